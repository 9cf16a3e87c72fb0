//! Random calls, after each of which every job must stand in exactly one place.

use std::collections::{BTreeMap, HashSet};

use super::*;
use crate::{arena::Key, job::Place, store::Store};

/// SplitMix64, so that a failure can be repeated from its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % end
    }

    fn delay(&mut self) -> Duration {
        if self.below(2) == 0 {
            Duration::ZERO
        } else {
            Duration::from_millis(self.below(2_000))
        }
    }
}

fn check(store: &mut Store) {
    let (mut live, mut dead) = (0, 0);
    for queue in &store.queues {
        let jobs = &store.common.jobs;
        let ready = queue.ready.iter().chain(queue.returned.values());
        let places: Vec<(Key, &str)> = ready
            .map(|key| (*key, "ready"))
            .chain(queue.held.values().map(|key| (*key, "held")))
            .chain(queue.scheduled.values().map(|key| (*key, "scheduled")))
            .chain(queue.leases.values().map(|key| (*key, "running")))
            .collect();
        for (key, place) in &places {
            let job = &jobs[*key];
            let expected = match job.place {
                Place::Ready => "ready",
                Place::Held => "held",
                Place::Scheduled => "scheduled",
                Place::Running { .. } => "running",
            };
            assert_eq!(*place, expected);
            if let Some(lane) = job.lane() {
                let head = queue.lanes.is_head(lane, *key);
                assert!(head || matches!(job.place, Place::Held | Place::Scheduled));
                assert!(!head || job.place != Place::Held);
            }
            if let Some(unique) = job.unique() {
                assert_eq!(
                    queue.uniques.holder(&unique.key, store.common.now),
                    Some(job.id)
                );
            }
        }
        let ids: HashSet<_> = places.iter().map(|(key, _)| jobs[*key].id).collect();
        assert_eq!(ids.len(), places.len(), "a job stands in two places");

        let ranks: Vec<_> = queue.ready.iter().map(|key| jobs[*key].rank).collect();
        assert!(ranks.is_sorted());
        let mut due: Vec<_> = queue
            .ready
            .iter()
            .chain(queue.returned.values())
            .chain(queue.held.values())
            .map(|key| (jobs[*key].rank, jobs[*key].due))
            .collect();
        due.sort_unstable();
        assert!(
            due.is_sorted_by_key(|(_, due)| *due),
            "due times follow ranks"
        );
        live += places.len();
        dead += queue.dead.len();
    }
    assert_eq!(live, store.common.jobs.len(), "a job stands nowhere");
    assert_eq!(live + dead, store.common.stored);
}

#[tokio::test(start_paused = true)]
async fn hold_under_random_calls() {
    for seed in 0..30 {
        let mut random = Random(seed);
        let driver = MemoryDriver::builder().capacity(200).build().unwrap();
        let mut leases: Vec<Lease> = Vec::new();
        // Per lane: labels in the order they were pushed, and those that were acked.
        let mut order: BTreeMap<String, (Vec<u64>, Vec<u64>)> = BTreeMap::new();
        let mut labels: BTreeMap<JobId, (String, u64)> = BTreeMap::new();
        for step in 0..600 {
            match random.below(10) {
                0..=3 => {
                    let mut new = delayed("x", random.delay());
                    let lane = format!("lane{}", random.below(4));
                    if random.below(2) == 0 {
                        new.ordering_key = Some(lane.clone());
                    }
                    if random.below(3) == 0 {
                        let key = format!("key{}", random.below(5));
                        new.unique = Some(UniqueKey {
                            key,
                            hold: random.delay(),
                        });
                    }
                    let (id, in_lane) = (new.id, new.ordering_key.is_some());
                    if is_stored(&driver.put(new).await) && in_lane {
                        order.entry(lane.clone()).or_default().0.push(step);
                        labels.insert(id, (lane, step));
                    }
                }
                4..=5 => {
                    let lease = Duration::from_millis(random.below(3_000) + 1);
                    let max = random.below(5) as usize;
                    let request = ReserveRequest { lease, ..ask(max) };
                    leases.extend(
                        driver
                            .reserve(request)
                            .await
                            .unwrap()
                            .into_iter()
                            .map(|job| job.lease),
                    );
                }
                6..=7 if !leases.is_empty() => {
                    let lease = leases.swap_remove(random.below(leases.len() as u64) as usize);
                    let id = lease.id;
                    let verdict = match random.below(6) {
                        0..=2 => ack(),
                        3 => retry(random.delay()),
                        4 => release(random.delay()),
                        _ => dead(),
                    };
                    let ends = matches!(verdict, Verdict::Ack | Verdict::Dead { .. });
                    let outcome = driver.end_lease(lease, verdict).await;
                    if ends
                        && outcome == LeaseOutcome::Done
                        && let Some((lane, step)) = labels.get(&id)
                    {
                        order.entry(lane.clone()).or_default().1.push(*step);
                    }
                }
                8 => driver.advance(Duration::from_millis(random.below(1_000))),
                _ => match random.below(8) {
                    0 if !leases.is_empty() => {
                        let by = Duration::from_millis(random.below(3_000));
                        driver.extend(leases.clone(), by).await.unwrap();
                    }
                    1 => {
                        driver.maintain(&[name("q")]).await.unwrap();
                    }
                    2 => {
                        driver.counts().await;
                    }
                    _ => {}
                },
            }
            driver.shared.with(check);
        }
        for (lane, (pushed, ended)) in order {
            assert_eq!(
                ended,
                pushed[..ended.len()],
                "seed {seed}: {lane} is out of order"
            );
        }

        // Administration breaks the order of lanes on purpose, but nothing else.
        driver
            .requeue_dead(&name("q"), Selection::All)
            .await
            .unwrap();
        driver.shared.with(check);
        driver.purge(&name("q")).await.unwrap();
        driver.shared.with(check);
        driver.advance(MINUTE);
        driver.purge(&name("q")).await.unwrap();
        driver
            .delete_dead(&name("q"), Selection::All)
            .await
            .unwrap();
        driver.maintain(&[name("q")]).await.unwrap();
        driver.shared.with(|store| {
            check(store);
            let queue = &store.queues[0];
            let left = (store.common.stored, queue.lanes.len(), queue.uniques.len());
            assert_eq!(left, (0, 0, 0), "seed {seed}");
        });
    }
}
