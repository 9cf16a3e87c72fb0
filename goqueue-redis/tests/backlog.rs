//! Many jobs that are due.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use goqueue_core::driver::{Driver, Inspect};
use support::*;
use tokio::time::{Instant, sleep};

#[tokio::test]
async fn a_backlog_of_due_retries_is_promoted_fast_and_by_several_at_once() {
    const JOBS: usize = 100_000;
    let server = Server::with(&["--appendfsync", "everysec"]).await;
    let driver = connect(&server.url()).await;
    for chunk in 0..JOBS / 1_000 {
        let jobs = (0..1_000).map(|n| {
            let mut job = job("q", format!("{:0100}", chunk * 1_000 + n));
            job.delay = Duration::from_millis(10);
            job
        });
        driver.push(jobs.collect()).await.unwrap();
    }
    sleep(Duration::from_millis(20)).await;
    let began = Instant::now();
    let pollers = (0..3).map(|_| {
        let driver = driver.clone();
        tokio::spawn(async move {
            let mut promoted = 0;
            loop {
                let done = driver.maintain(&[queue("q")]).await.unwrap();
                promoted += done.promoted;
                if !done.next.is_zero() {
                    return promoted;
                }
            }
        })
    });
    let mut promoted = 0;
    for poller in pollers.collect::<Vec<_>>() {
        promoted += poller.await.unwrap();
    }
    let rate = JOBS as f64 / began.elapsed().as_secs_f64();
    println!("{rate:.0} promoted a second");
    assert_eq!(promoted, JOBS as u64);
    assert_eq!(driver.stats(&queue("q")).await.unwrap().ready, JOBS as u64);
    assert!(rate > 50_000.0, "{rate:.0} a second");
}
