//! How much one command does: a batch is one call, and a large queue is gone through in pieces, so
//! that the server is never held up.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use goqueue_core::driver::{Driver, Inspect, JobState, LeaseOutcome, PageRequest, Selection};
use support::*;

const MANY: usize = 20_000;

/// How many scripts the server has run since it was asked last.
async fn scripts(server: &Server) -> u64 {
    let calls = server.calls().await;
    server.ask("CONFIG RESETSTAT").await;
    let evals = calls.iter().filter(|(name, _)| name.starts_with("eval"));
    evals.map(|(_, calls)| calls).sum()
}

#[tokio::test]
async fn a_batch_is_one_call() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    // The first call of each script loads it.
    driver.push(vec![job("q", "warm")]).await.unwrap();
    let warm = take(&driver, "q", 1).await;
    driver
        .extend(vec![warm[0].lease.clone()], LEASE)
        .await
        .unwrap();
    driver.settle(vec![ack(&warm[0].lease)]).await.unwrap();
    scripts(&server).await;

    for size in [1, 100, driver.capabilities().batch.jobs] {
        let jobs = (0..size).map(|n| job("q", format!("{n}"))).collect();
        driver.push(jobs).await.unwrap();
        assert_eq!(scripts(&server).await, 1, "a push of {size}");
        let taken = take(&driver, "q", size).await;
        assert_eq!(taken.len(), size);
        assert_eq!(scripts(&server).await, 1, "a reservation of {size}");
        let leases = taken.iter().map(|job| job.lease.clone()).collect();
        driver.extend(leases, LEASE).await.unwrap();
        assert_eq!(scripts(&server).await, 1, "an extension of {size}");
        let outcomes = driver
            .settle(taken.iter().map(|job| ack(&job.lease)).collect())
            .await
            .unwrap();
        assert!(outcomes.iter().all(|its| *its == LeaseOutcome::Done));
        assert_eq!(scripts(&server).await, 1, "a settlement of {size}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_queue_is_gone_through_in_pieces() {
    let server = Server::with(&["--appendfsync", "no"]).await;
    let driver = connect(&server.url()).await;
    let q = queue("q");
    let most = driver.capabilities().batch.jobs;
    for _ in 0..MANY / most {
        driver
            .push((0..most).map(|_| job("q", "x")).collect())
            .await
            .unwrap();
        let taken = take(&driver, "q", most).await;
        let deaths = taken
            .iter()
            .map(|job| settled(&job.lease, dead("it is bad")));
        driver.settle(deaths.collect()).await.unwrap();
        driver
            .push((0..most).map(|_| job("q", "x")).collect())
            .await
            .unwrap();
        let taken = take(&driver, "q", most).await;
        let late = |job: &goqueue_core::driver::Reserved| {
            settled(&job.lease, retry(std::time::Duration::from_secs(3600)))
        };
        driver
            .settle(taken.iter().map(late).collect())
            .await
            .unwrap();
    }
    let stats = driver.stats(&q).await.unwrap();
    assert_eq!((stats.dead, stats.scheduled), (MANY as u64, MANY as u64));
    // From here on the server notes every command that takes longer than this, in microseconds.
    server
        .ask("CONFIG SET slowlog-log-slower-than 100000")
        .await;
    server.ask("SLOWLOG RESET").await;
    scripts(&server).await;

    let mut page = PageRequest::first(500);
    let mut listed = 0;
    loop {
        let letters = driver.dead_letters(&q, page.clone()).await.unwrap();
        assert!(letters.items.len() <= 500);
        listed += letters.items.len();
        page.after = letters.next;
        if page.after.is_none() {
            break;
        }
    }
    assert_eq!(listed, MANY);
    let first = PageRequest::first(10);
    let found = driver.peek(&q, JobState::Scheduled, first).await.unwrap();
    assert_eq!(found.items.len(), 10);

    scripts(&server).await;
    let requeued = driver.requeue_dead(&q, Selection::All).await.unwrap();
    assert_eq!(requeued, MANY as u64);
    let calls = scripts(&server).await;
    assert!(calls >= (MANY / 1_000) as u64, "requeued in {calls} calls");
    let purged = driver.purge(&q).await.unwrap();
    assert_eq!(purged, 2 * MANY as u64);
    let calls = scripts(&server).await;
    assert!(
        calls >= (2 * MANY / 1_000) as u64,
        "purged in {calls} calls"
    );

    let all = server.calls().await;
    assert!(!all.iter().any(|(name, _)| name == "keys"), "{all:?}");
    let slow: i64 = redis::from_redis_value(server.ask("SLOWLOG LEN").await).unwrap();
    assert_eq!(slow, 0, "commands held the server up for 100 ms");
}
