//! Each verb on a private server.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use goqueue_core::{
    JobId,
    dead_letter::DeadReason,
    driver::{
        Driver, Inspect, JobState, LeaseOutcome, LeaseToken, PageRequest, PushOutcome, QueueShare,
        Selection, Settlement, UniqueKey, Verdict,
    },
};
use support::*;

fn verdict(lease: &goqueue_core::driver::Lease, verdict: Verdict) -> Settlement {
    Settlement {
        lease: lease.clone(),
        verdict,
    }
}

fn retry(delay: Duration) -> Verdict {
    Verdict::Retry {
        delay,
        error: "went wrong".into(),
    }
}

fn dead(error: &str) -> Verdict {
    Verdict::Dead {
        reason: DeadReason::Permanent,
        error: error.into(),
    }
}

#[tokio::test]
async fn a_job_goes_through_its_life_and_leaves_nothing() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    assert_eq!(driver.eviction_policy(), Some("noeviction"));
    let jobs: Vec<_> = (0..50).map(|n| job("mail", format!("job {n}"))).collect();
    let ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
    let outcomes = driver.push(jobs).await.unwrap();
    assert!(
        outcomes
            .iter()
            .all(|outcome| matches!(outcome, PushOutcome::Stored))
    );

    let first = take(&driver, "mail", 20).await;
    let second = take(&driver, "mail", 100).await;
    let taken: Vec<_> = first.iter().chain(&second).collect();
    assert_eq!(
        taken.iter().map(|job| job.lease.id).collect::<Vec<_>>(),
        ids
    );
    assert!(taken.iter().all(|job| job.attempt == 1));
    assert_eq!(taken[7].body, "job 7");
    let stats = driver.stats(&queue("mail")).await.unwrap();
    assert_eq!((stats.ready, stats.running), (0, 50));

    let outcomes = driver
        .settle(taken.iter().map(|job| ack(&job.lease)).collect())
        .await
        .unwrap();
    assert_eq!(outcomes, [LeaseOutcome::Done; 50]);
    let again = driver.settle(vec![ack(&first[0].lease)]).await.unwrap();
    assert_eq!(again, [LeaseOutcome::Lost]);
    assert_eq!(server.keys().await, ["goqueue:queues"]);
    assert_eq!(driver.queues().await.unwrap(), [queue("mail")]);
}

#[tokio::test]
async fn a_mixed_settlement_answers_for_each_lease() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    let mut jobs: Vec<_> = (0..7).map(|n| job("q", format!("{n}"))).collect();
    jobs[1].ordering_key = Some("k".into());
    jobs[6].queue = queue("other");
    driver.push(jobs).await.unwrap();
    let taken = take(&driver, "q", 10).await;
    let other = take(&driver, "other", 10).await;
    assert_eq!((taken.len(), other.len()), (6, 1));
    let mut stale = taken[5].lease.clone();
    stale.token = LeaseToken::from(4_711_u64);
    let mut foreign = stale.clone();
    foreign.token = LeaseToken::from("of another driver");

    let outcomes = driver
        .settle(vec![
            verdict(&stale, Verdict::Ack),
            ack(&taken[0].lease),
            ack(&taken[0].lease),
            verdict(&taken[2].lease, retry(Duration::ZERO)),
            verdict(&foreign, dead("no")),
            ack(&taken[1].lease),
            verdict(
                &taken[3].lease,
                Verdict::Release {
                    delay: Duration::ZERO,
                },
            ),
            verdict(
                &taken[4].lease,
                Verdict::Release {
                    delay: Duration::ZERO,
                },
            ),
            ack(&other[0].lease),
            verdict(&stale, retry(Duration::ZERO)),
            verdict(&taken[5].lease, dead("no")),
            verdict(&taken[5].lease, dead("no")),
        ])
        .await
        .unwrap();
    use LeaseOutcome::{Done, Lost};
    let expected = [
        Lost, Done, Lost, Done, Lost, Done, Done, Done, Done, Lost, Done, Lost,
    ];
    assert_eq!(outcomes, expected);

    let next = take(&driver, "q", 10).await;
    assert_eq!(
        bodies(&next),
        ["3", "4", "2"],
        "released jobs go in front, in their order"
    );
    assert_eq!(
        next.iter().map(|job| job.attempt).collect::<Vec<_>>(),
        [1, 1, 2]
    );
    let letters = driver
        .dead_letters(&queue("q"), PageRequest::first(10))
        .await
        .unwrap()
        .items;
    assert_eq!(letters.len(), 1);
    assert_eq!((letters[0].error.as_str(), letters[0].attempts), ("no", 1));
    assert_eq!(letters[0].body, "5");
}

#[tokio::test]
async fn delays_leases_and_attempts_follow_the_servers_clock() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    let mut late = job("q", "late");
    late.delay = Duration::from_millis(150);
    let pushed = tokio::time::Instant::now();
    driver.push(vec![late]).await.unwrap();
    assert!(take(&driver, "q", 1).await.is_empty());
    let stats = driver.stats(&queue("q")).await.unwrap();
    assert_eq!((stats.ready, stats.scheduled), (0, 1));
    let taken = driver
        .reserve(waiting("q", 1, Duration::from_secs(5)))
        .await
        .unwrap();
    let waited = pushed.elapsed();
    assert!((150..600).contains(&waited.as_millis()), "{waited:?}");

    driver
        .settle(vec![verdict(
            &taken[0].lease,
            retry(Duration::from_millis(100)),
        )])
        .await
        .unwrap();
    let scheduled = driver
        .peek(&queue("q"), JobState::Scheduled, PageRequest::first(5))
        .await
        .unwrap()
        .items;
    assert_eq!(scheduled[0].last_error.as_deref(), Some("went wrong"));
    assert_eq!(scheduled[0].attempts, 1);
    let mut short = waiting("q", 1, Duration::from_secs(5));
    short.lease = Duration::from_millis(200);
    let second = driver.reserve(short).await.unwrap();
    assert_eq!(second[0].attempt, 2);
    assert_eq!(
        driver
            .extend(vec![second[0].lease.clone()], LEASE)
            .await
            .unwrap(),
        [LeaseOutcome::Done]
    );
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(
        take(&driver, "q", 1).await.is_empty(),
        "an extended lease holds"
    );

    driver
        .extend(vec![second[0].lease.clone()], Duration::from_millis(50))
        .await
        .unwrap();
    let third = driver
        .reserve(waiting("q", 1, Duration::from_secs(5)))
        .await
        .unwrap();
    assert_eq!(
        (third[0].attempt, third[0].body.as_ref()),
        (3, &b"late"[..])
    );
    let stale = driver.settle(vec![ack(&second[0].lease)]).await.unwrap();
    assert_eq!(stale, [LeaseOutcome::Lost]);
    let stale = driver
        .extend(vec![second[0].lease.clone(), third[0].lease.clone()], LEASE)
        .await;
    assert_eq!(stale.unwrap(), [LeaseOutcome::Lost, LeaseOutcome::Done]);
    driver.settle(vec![ack(&third[0].lease)]).await.unwrap();
    assert_eq!(server.keys().await, ["goqueue:queues"]);
}

#[tokio::test]
async fn jobs_of_one_ordering_key_run_one_at_a_time_and_in_order() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    let keyed = |key: &str, body: &'static str, delay: u64| {
        let mut job = job("q", body);
        job.ordering_key = Some(key.into());
        job.delay = Duration::from_millis(delay);
        job
    };
    driver
        .push(vec![
            keyed("a", "a1", 0),
            keyed("a", "a2", 0),
            keyed("b", "b1", 0),
            keyed("a", "a3", 300),
            job("q", "free"),
        ])
        .await
        .unwrap();
    let stats = driver.stats(&queue("q")).await.unwrap();
    assert_eq!((stats.ready, stats.scheduled), (4, 1));
    let taken = take(&driver, "q", 10).await;
    assert_eq!(bodies(&taken), ["a1", "b1", "free"]);

    // A retry holds the lane, and so does a release.
    driver
        .settle(vec![verdict(
            &taken[0].lease,
            retry(Duration::from_millis(100)),
        )])
        .await
        .unwrap();
    assert!(take(&driver, "q", 10).await.is_empty());
    let taken = driver
        .reserve(waiting("q", 10, Duration::from_secs(5)))
        .await
        .unwrap();
    assert_eq!(bodies(&taken), ["a1"]);
    let release = Verdict::Release {
        delay: Duration::ZERO,
    };
    driver
        .settle(vec![verdict(&taken[0].lease, release)])
        .await
        .unwrap();
    let taken = take(&driver, "q", 10).await;
    assert_eq!((bodies(&taken), taken[0].attempt), (vec!["a1".into()], 2));

    driver.settle(vec![ack(&taken[0].lease)]).await.unwrap();
    let taken = take(&driver, "q", 10).await;
    assert_eq!(bodies(&taken), ["a2"]);
    driver
        .settle(vec![verdict(&taken[0].lease, dead("no"))])
        .await
        .unwrap();
    let taken = driver
        .reserve(waiting("q", 10, Duration::from_secs(5)))
        .await
        .unwrap();
    assert_eq!(bodies(&taken), ["a3"]);
    driver.settle(vec![ack(&taken[0].lease)]).await.unwrap();
    driver
        .delete_dead(&queue("q"), Selection::All)
        .await
        .unwrap();

    let held = take(&driver, "q", 10).await;
    assert!(held.is_empty(), "b1 and the free one still run");
    let keys = server.keys().await;
    let expected = [
        "goqueue:queues",
        "goqueue:{q}:lanes",
        "goqueue:{q}:leases",
        "goqueue:{q}:running",
    ];
    assert_eq!(keys, expected, "the lane of b, and what runs");
}

#[tokio::test]
async fn a_lane_does_not_wait_behind_what_came_later() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    let mut first = [job("q", "a1"), job("q", "a2")];
    first
        .iter_mut()
        .for_each(|job| job.ordering_key = Some("a".into()));
    driver.push(first.to_vec()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    driver
        .push((0..100).map(|n| job("q", format!("{n}"))).collect())
        .await
        .unwrap();
    let taken = take(&driver, "q", 1).await;
    driver.settle(vec![ack(&taken[0].lease)]).await.unwrap();
    assert_eq!(bodies(&take(&driver, "q", 2).await), ["a2", "0"]);
}

#[tokio::test]
async fn a_unique_key_is_taken_for_as_long_as_its_job_lives_or_it_is_held() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    let unique = |key: &str, hold: u64| {
        let mut job = job("q", "body");
        job.unique = Some(UniqueKey {
            key: key.into(),
            hold: Duration::from_millis(hold),
        });
        job
    };
    let (first, second) = (unique("k", 0), unique("k", 0));
    let id = first.id;
    let outcomes = driver
        .push(vec![first, second.clone(), unique("l", 400)])
        .await
        .unwrap();
    assert!(matches!(outcomes[..], [
        PushOutcome::Stored,
        PushOutcome::Duplicate(holder),
        PushOutcome::Stored
    ] if holder == id));
    let taken = take(&driver, "q", 10).await;
    let push_again = || driver.push(vec![unique("k", 0), unique("l", 0)]);
    assert!(
        push_again()
            .await
            .unwrap()
            .iter()
            .all(|o| matches!(o, PushOutcome::Duplicate(_)))
    );
    driver
        .settle(taken.iter().map(|job| ack(&job.lease)).collect())
        .await
        .unwrap();
    let outcomes = push_again().await.unwrap();
    assert!(matches!(
        outcomes[..],
        [PushOutcome::Stored, PushOutcome::Duplicate(_)]
    ));
    tokio::time::sleep(Duration::from_millis(420)).await;
    let done = driver.maintain(&[queue("q")]).await.unwrap();
    assert_eq!(done.promoted, 0);
    let taken = take(&driver, "q", 10).await;
    driver
        .settle(vec![verdict(&taken[0].lease, dead("no"))])
        .await
        .unwrap();
    let keys = server.keys().await;
    assert!(!keys.iter().any(|key| key.contains("unique")), "{keys:?}");

    // A dead letter whose key is taken by a live job stays.
    driver.push(vec![unique("k", 0)]).await.unwrap();
    assert_eq!(
        driver
            .requeue_dead(&queue("q"), Selection::All)
            .await
            .unwrap(),
        0
    );
    assert_eq!(driver.purge(&queue("q")).await.unwrap(), 1);
    assert_eq!(
        driver
            .requeue_dead(&queue("q"), Selection::All)
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        driver
            .requeue_dead(&queue("q"), Selection::All)
            .await
            .unwrap(),
        0
    );
    assert!(matches!(
        driver.push(vec![second]).await.unwrap()[..],
        [PushOutcome::Duplicate(_)]
    ));
    let taken = take(&driver, "q", 1).await;
    assert_eq!(taken[0].attempt, 1);
    driver.settle(vec![ack(&taken[0].lease)]).await.unwrap();
    assert_eq!(server.keys().await, ["goqueue:queues"]);
}

#[tokio::test]
async fn dead_letters_are_listed_steered_and_end_with_their_retention() {
    let server = Server::start().await;
    let config = goqueue_core::Config::from_toml(&format!(
        "driver = \"{}\"\n[dead_letter]\nretention = \"1s\"",
        server.url()
    ));
    let driver = goqueue_redis::RedisDriver::connect(&config.unwrap())
        .await
        .unwrap();
    let jobs: Vec<_> = (0..25).map(|n| job("q", format!("{n}"))).collect();
    let ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
    driver.push(jobs).await.unwrap();
    let mut taken = take(&driver, "q", 100).await;
    taken.reverse();
    let buried = taken
        .iter()
        .map(|job| verdict(&job.lease, dead("why")))
        .collect();
    driver.settle(buried).await.unwrap();

    let (mut page, mut listed) = (PageRequest::first(10), Vec::new());
    loop {
        let found = driver
            .dead_letters(&queue("q"), page.clone())
            .await
            .unwrap();
        listed.extend(found.items);
        page.after = found.next;
        if page.after.is_none() {
            break;
        }
    }
    assert_eq!(
        listed.iter().map(|letter| letter.id).collect::<Vec<_>>(),
        ids
    );
    assert_eq!(listed[3].body, "3");
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_millis() as u64;
    assert!(now - listed[0].died_at < 5_000, "{}", listed[0].died_at);
    assert_eq!(listed[0].reason, DeadReason::Permanent);
    let one = driver
        .dead_letter(&queue("q"), ids[4])
        .await
        .unwrap()
        .unwrap();
    assert_eq!((one.body.as_ref(), one.queue), (&b"4"[..], queue("q")));
    assert!(
        driver
            .dead_letter(&queue("q"), JobId::new())
            .await
            .unwrap()
            .is_none()
    );

    let some = || Selection::Ids(vec![ids[1], ids[2], JobId::new()]);
    assert_eq!(driver.delete_dead(&queue("q"), some()).await.unwrap(), 2);
    assert_eq!(driver.delete_dead(&queue("q"), some()).await.unwrap(), 0);
    let requeued = driver
        .requeue_dead(&queue("q"), Selection::Ids(vec![ids[0]]))
        .await
        .unwrap();
    assert_eq!(requeued, 1);
    let again = take(&driver, "q", 5).await;
    assert_eq!((again[0].lease.id, again[0].attempt), (ids[0], 1));
    driver.settle(vec![ack(&again[0].lease)]).await.unwrap();

    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(driver.maintain(&[queue("q")]).await.unwrap().purged, 22);
    assert_eq!(server.keys().await, ["goqueue:queues"]);
}

#[tokio::test]
async fn every_state_is_listed_page_by_page() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    let mut jobs = Vec::new();
    for n in 0..30 {
        let mut job = job("q", format!("{n:02}"));
        if n >= 10 {
            // Many of one due time, and some that wait for their lane.
            job.delay = Duration::from_secs(100 + n / 10);
            job.ordering_key = (n % 3 == 0).then(|| "k".into());
        }
        jobs.push(job);
    }
    driver.push(jobs).await.unwrap();
    take(&driver, "q", 4).await;
    for (state, expected) in [
        (JobState::Ready, 4..10),
        (JobState::Scheduled, 10..30),
        (JobState::Running, 0..4),
    ] {
        let mut expected: Vec<_> = expected.map(|n| format!("{n:02}")).collect();
        let (mut page, mut listed) = (PageRequest::first(3), Vec::new());
        loop {
            let found = driver.peek(&queue("q"), state, page.clone()).await.unwrap();
            assert!(found.items.len() <= 3);
            for item in found.items {
                assert_eq!(item.state, state);
                assert_eq!(item.attempts, u32::from(state == JobState::Running));
                assert_eq!(item.due_in.is_zero(), state == JobState::Ready);
                listed.push(String::from_utf8(item.body.to_vec()).unwrap());
            }
            page.after = found.next;
            if page.after.is_none() {
                break;
            }
        }
        listed.sort();
        expected.sort();
        assert_eq!(listed, expected, "{state}");
    }
    let wrong = PageRequest {
        limit: 1,
        after: Some("x".into()),
    };
    let error = driver
        .peek(&queue("q"), JobState::Scheduled, wrong)
        .await
        .unwrap_err();
    assert!(
        error.to_string().starts_with("invalid page cursor `x`"),
        "{error}"
    );

    assert_eq!(driver.purge(&queue("q")).await.unwrap(), 26);
    let keys = server.keys().await;
    assert_eq!(
        keys,
        [
            "goqueue:queues",
            "goqueue:{q}:leases",
            "goqueue:{q}:running"
        ]
    );
}

#[tokio::test]
async fn shares_are_filled_first_and_then_whatever_there_is() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    let jobs = |name: &'static str, n: usize| (0..n).map(move |_| job(name, name));
    driver
        .push(
            jobs("a", 20)
                .chain(jobs("b", 2))
                .chain(jobs("c", 9))
                .collect(),
        )
        .await
        .unwrap();
    let share = |name: &str, share: usize| QueueShare {
        queue: queue(name),
        share,
    };
    let mut asked = request("a", 20);
    asked.queues = vec![
        share("a", 6),
        share("b", 3),
        share("c", 1),
        share("none", 0),
    ];
    let taken = driver.reserve(asked).await.unwrap();
    let count = |name: &str| {
        taken
            .iter()
            .filter(|job| job.lease.queue == queue(name))
            .count()
    };
    assert_eq!(
        (taken.len(), count("a"), count("b"), count("c")),
        (20, 17, 2, 1)
    );
}

#[tokio::test]
async fn a_closed_driver_refuses_and_ends_what_waits() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    let waits = {
        let driver = driver.clone();
        tokio::spawn(async move {
            driver
                .reserve(waiting("q", 1, Duration::from_secs(60)))
                .await
        })
    };
    tokio::time::sleep(Duration::from_millis(100)).await;
    tokio::time::timeout(Duration::from_secs(2), driver.close())
        .await
        .unwrap()
        .unwrap();
    assert!(waits.await.unwrap().unwrap().is_empty());
    let error = driver.push(vec![job("q", "late")]).await.unwrap_err();
    assert_eq!(error.to_string(), "driver `redis` is closed");
}
