//! What a waiting job costs the server.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use goqueue_core::Queue;
use support::*;

#[tokio::test]
async fn a_waiting_job_of_100_bytes_takes_less_than_320_bytes() {
    const JOBS: i64 = 100_000;
    let server = Server::with(&["--appendonly", "no"]).await;
    let queue = Queue::new(connect(&server.url()).await);
    let payload = format!("\"{}\"", "x".repeat(98));
    let batch = |driver: &Queue| {
        let jobs = (0..1_000).map(|_| {
            let id = goqueue_core::JobId::new();
            let json = serde_json::value::RawValue::from_string(payload.clone()).unwrap();
            let name = support::queue("bench");
            let envelope = goqueue_core::Envelope::new(id, "bench.job", name, json);
            let mut job = job("bench", envelope.encode());
            job.id = id;
            job
        });
        let (driver, jobs) = (driver.driver().clone(), jobs.collect());
        async move { driver.push(jobs).await.unwrap() }
    };
    batch(&queue).await;
    let before = server.info("used_memory").await;
    for _ in 0..JOBS / 1_000 {
        batch(&queue).await;
    }
    let each = (server.info("used_memory").await - before) / JOBS;
    println!("{each} bytes a job");
    assert!((100..=320).contains(&each), "{each} bytes");
}
