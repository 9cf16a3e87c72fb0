//! Many producers and workers at once: nothing is lost, doubled or out of order, and no deadlock
//! reaches a caller.

mod support;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use goqueue_core::driver::{Driver, LeaseOutcome, PushOutcome, Settlement, Verdict};
use support::*;
use tokio::{sync::Mutex, task::JoinSet, time::sleep};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thirty_two_claimers_share_twenty_thousand_jobs() {
    const JOBS: usize = 20_000;
    let database = Database::new().await;
    let driver = database.driver().await;
    for _ in 0..JOBS / 1000 {
        push(&driver, (0..1000).map(|_| job("q", "x")).collect()).await;
    }
    let mut claimers = JoinSet::new();
    for claimer in 0..32 {
        // Each is a process of its own as far as the server can tell.
        let driver = if claimer % 4 == 0 {
            database.driver().await
        } else {
            driver.clone()
        };
        claimers.spawn(async move {
            let mut ids = Vec::new();
            loop {
                let jobs = take(&driver, 1 + claimer).await;
                if jobs.is_empty() {
                    return ids;
                }
                ids.extend(jobs.iter().map(|job| job.lease.id));
                let ends = jobs.into_iter().map(|job| Settlement {
                    lease: job.lease,
                    verdict: Verdict::Ack,
                });
                let outcomes = driver.settle(ends.collect()).await.unwrap();
                assert!(
                    outcomes
                        .iter()
                        .all(|outcome| *outcome == LeaseOutcome::Done)
                );
            }
        });
    }
    let mut all = Vec::new();
    while let Some(ids) = claimers.join_next().await {
        all.extend(ids.unwrap());
    }
    assert_eq!(all.len(), JOBS);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), JOBS);
    database.is_empty().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ordering_keys_stay_exact_among_producers_and_workers() {
    const PRODUCERS: usize = 8;
    const KEYS: usize = 12;
    const EACH: usize = 40;
    let database = Database::new().await;
    let driver = database.driver().await;
    let finished = Arc::new(AtomicUsize::new(0));
    let running: Arc<Mutex<HashSet<String>>> = Arc::default();
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let mut tasks = JoinSet::new();
    for producer in 0..PRODUCERS {
        let driver = driver.clone();
        tasks.spawn(async move {
            for n in 0..EACH {
                let batch = (0..KEYS)
                    .map(|key| ordered(&format!("key-{key}"), format!("{key} {producer} {n}")));
                push(&driver, batch.collect()).await;
            }
        });
    }
    for worker in 0..6 {
        let driver = if worker % 2 == 0 {
            database.driver().await
        } else {
            driver.clone()
        };
        let (finished, running, log) = (finished.clone(), running.clone(), log.clone());
        tasks.spawn(async move {
            let mut turn = worker;
            while finished.load(Ordering::SeqCst) < PRODUCERS * KEYS * EACH {
                let jobs = take(&driver, 8).await;
                if jobs.is_empty() {
                    sleep(Duration::from_millis(5)).await;
                }
                let mut ends = Vec::new();
                for (job, body) in jobs.iter().zip(bodies_of(&jobs)) {
                    let key = body.split(' ').next().unwrap().to_owned();
                    assert!(running.lock().await.insert(key.clone()), "{key} runs twice");
                    turn += 1;
                    let verdict = match turn % 7 {
                        0 => retry(Duration::ZERO),
                        1 => release(),
                        _ => Verdict::Ack,
                    };
                    if verdict == Verdict::Ack {
                        log.lock().await.push(body);
                        finished.fetch_add(1, Ordering::SeqCst);
                    }
                    running.lock().await.remove(&key);
                    ends.push(Settlement {
                        lease: job.lease.clone(),
                        verdict,
                    });
                }
                let outcomes = driver.settle(ends).await.unwrap();
                assert!(
                    outcomes
                        .iter()
                        .all(|outcome| *outcome == LeaseOutcome::Done)
                );
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    // What one producer pushed under one key ran in that order.
    let mut last: HashMap<(String, String), usize> = HashMap::new();
    for line in log.lock().await.iter() {
        let parts: Vec<_> = line.split(' ').collect();
        let n: usize = parts[2].parse().unwrap();
        let before = last.insert((parts[0].into(), parts[1].into()), n);
        assert_eq!(n, before.map_or(0, |before| before + 1), "{line}");
    }
    assert_eq!(log.lock().await.len(), PRODUCERS * KEYS * EACH);
    database.is_empty().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn unique_keys_stay_exact_among_producers_and_workers() {
    const PRODUCERS: usize = 16;
    const ROUNDS: usize = 60;
    let database = Database::new().await;
    let driver = database.driver().await;
    let stored = Arc::new(AtomicUsize::new(0));
    let producing = Arc::new(AtomicUsize::new(PRODUCERS));
    let mut tasks = JoinSet::new();
    for producer in 0..PRODUCERS {
        let driver = driver.clone();
        let (stored, producing) = (stored.clone(), producing.clone());
        tasks.spawn(async move {
            for round in 0..ROUNDS {
                // In a different order each time.
                let mut batch: Vec<_> = (0..5)
                    .map(|key| unique(&format!("key-{key}"), Duration::ZERO))
                    .collect();
                batch.rotate_left((producer + round) % 5);
                for outcome in driver.push(batch).await.unwrap() {
                    match outcome {
                        PushOutcome::Stored => _ = stored.fetch_add(1, Ordering::SeqCst),
                        PushOutcome::Duplicate(_) => {}
                        PushOutcome::Refused(error) => panic!("{error}"),
                    }
                }
            }
            producing.fetch_sub(1, Ordering::SeqCst);
        });
    }
    let run = Arc::new(AtomicUsize::new(0));
    for worker in 0..4 {
        let (driver, producing, run) = (driver.clone(), producing.clone(), run.clone());
        tasks.spawn(async move {
            loop {
                let is_last = producing.load(Ordering::SeqCst) == 0;
                let jobs = take(&driver, 2 + worker).await;
                if jobs.is_empty() && is_last {
                    return;
                }
                run.fetch_add(jobs.len(), Ordering::SeqCst);
                let ends = jobs.into_iter().map(|job| Settlement {
                    lease: job.lease,
                    verdict: Verdict::Ack,
                });
                driver.settle(ends.collect()).await.unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    assert_eq!(run.load(Ordering::SeqCst), stored.load(Ordering::SeqCst));
    assert!(stored.load(Ordering::SeqCst) > 5);
    database.is_empty().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_key_has_one_holder_however_many_ask() {
    let database = Database::new().await;
    let driver = database.driver().await;
    for round in 0..20 {
        let mut tasks = JoinSet::new();
        for _ in 0..12 {
            let driver = driver.clone();
            let key = format!("round-{round}");
            tasks.spawn(async move {
                let job = unique(&key, Duration::ZERO);
                let id = job.id;
                match driver.push(vec![job]).await.unwrap().remove(0) {
                    PushOutcome::Stored => (true, id),
                    PushOutcome::Duplicate(holder) => (false, holder),
                    PushOutcome::Refused(error) => panic!("{error}"),
                }
            });
        }
        let mut seen = BTreeMap::new();
        while let Some(outcome) = tasks.join_next().await {
            let (is_stored, id) = outcome.unwrap();
            *seen.entry((is_stored, id)).or_insert(0) += 1;
        }
        let seen: Vec<_> = seen.into_iter().collect();
        let [((false, holder), 11), ((true, stored), 1)] = seen[..] else {
            panic!("{seen:?}")
        };
        assert_eq!(holder, stored);
    }
    database.drop().await;
}
