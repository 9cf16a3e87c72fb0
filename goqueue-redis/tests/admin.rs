//! Looking into queues, and steering dead letters.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use goqueue_core::{
    JobId,
    dead_letter::DeadReason,
    driver::{Driver, Inspect, JobState, PageRequest, Selection},
};
use support::*;

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
        .map(|job| settled(&job.lease, dead("why")))
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
