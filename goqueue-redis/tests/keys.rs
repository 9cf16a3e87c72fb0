//! Ordering keys and unique keys.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use goqueue_core::driver::{Driver, Inspect, PushOutcome, Selection, UniqueKey, Verdict};
use support::*;

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
        .settle(vec![settled(
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
        .settle(vec![settled(&taken[0].lease, release)])
        .await
        .unwrap();
    let taken = take(&driver, "q", 10).await;
    assert_eq!((bodies(&taken), taken[0].attempt), (vec!["a1".into()], 2));

    driver.settle(vec![ack(&taken[0].lease)]).await.unwrap();
    let taken = take(&driver, "q", 10).await;
    assert_eq!(bodies(&taken), ["a2"]);
    driver
        .settle(vec![settled(&taken[0].lease, dead("no"))])
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
        .settle(vec![settled(&taken[0].lease, dead("no"))])
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
