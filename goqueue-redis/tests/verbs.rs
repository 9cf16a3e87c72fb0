//! Each verb on a private server.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use goqueue_core::{
    JobId,
    driver::{
        Driver, Inspect, JobState, LeaseOutcome, LeaseToken, PageRequest, PushOutcome, QueueShare,
        Verdict,
    },
};
use support::*;

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
            settled(&stale, Verdict::Ack),
            ack(&taken[0].lease),
            ack(&taken[0].lease),
            settled(&taken[2].lease, retry(Duration::ZERO)),
            settled(&foreign, dead("no")),
            ack(&taken[1].lease),
            settled(
                &taken[3].lease,
                Verdict::Release {
                    delay: Duration::ZERO,
                },
            ),
            settled(
                &taken[4].lease,
                Verdict::Release {
                    delay: Duration::ZERO,
                },
            ),
            ack(&other[0].lease),
            settled(&stale, retry(Duration::ZERO)),
            settled(&taken[5].lease, dead("no")),
            settled(&taken[5].lease, dead("no")),
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
        .settle(vec![settled(
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
