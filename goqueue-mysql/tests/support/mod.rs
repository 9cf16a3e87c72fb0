//! A database per test, private servers for tests that break them, and short words for the rest.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "each test binary uses its part"
)]

mod database;
mod harness;
mod kind;
mod log_harness;
mod server;

use std::time::Duration;

use bytes::Bytes;
use goqueue_core::{
    Config, JobId, QueueName,
    dead_letter::DeadReason,
    driver::{
        Driver, Lease, LeaseOutcome, NewJob, PushOutcome, QueueShare, QueueStats, ReserveRequest,
        Reserved, Settlement, UniqueKey, Verdict,
    },
    log::GroupName,
};
use goqueue_mysql::MysqlDriver;
use tokio_util::sync::CancellationToken;

pub use database::{Database, server_url};
pub use harness::MysqlHarness;
pub use kind::Kind;
pub use log_harness::MysqlLogHarness;
pub use server::{Server, line_to};

pub const LEASE: Duration = Duration::from_secs(30);

pub fn group(name: &str) -> GroupName {
    GroupName::new(name).unwrap()
}

pub fn queue(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

pub fn job(queue_name: &str, body: impl Into<Bytes>) -> NewJob {
    NewJob {
        id: JobId::new(),
        queue: queue(queue_name),
        body: body.into(),
        delay: Duration::ZERO,
        ordering_key: None,
        unique: None,
    }
}

pub fn ordered(key: &str, body: impl Into<Bytes>) -> NewJob {
    NewJob {
        ordering_key: Some(key.into()),
        ..job("q", body)
    }
}

pub fn unique(key: &str, hold: Duration) -> NewJob {
    NewJob {
        unique: Some(UniqueKey {
            key: key.into(),
            hold,
        }),
        ..job("q", "unique")
    }
}

pub fn request(queue_name: &str, max: usize) -> ReserveRequest {
    ReserveRequest {
        queues: vec![QueueShare {
            queue: queue(queue_name),
            share: max,
        }],
        max,
        lease: LEASE,
        wait: Duration::ZERO,
        cancel: CancellationToken::new(),
    }
}

pub fn waiting(queue_name: &str, max: usize, wait: Duration) -> ReserveRequest {
    ReserveRequest {
        wait,
        ..request(queue_name, max)
    }
}

pub async fn push(driver: &MysqlDriver, jobs: Vec<NewJob>) {
    for outcome in driver.push(jobs).await.unwrap() {
        assert!(matches!(outcome, PushOutcome::Stored), "{outcome:?}");
    }
}

pub async fn take(driver: &MysqlDriver, max: usize) -> Vec<Reserved> {
    driver.reserve(request("q", max)).await.unwrap()
}

/// Takes up to `max` jobs and answers their bodies.
pub async fn bodies(driver: &MysqlDriver, max: usize) -> Vec<String> {
    bodies_of(&take(driver, max).await)
}

pub fn bodies_of(jobs: &[Reserved]) -> Vec<String> {
    jobs.iter()
        .map(|job| String::from_utf8_lossy(&job.body).into_owned())
        .collect()
}

pub async fn end(driver: &MysqlDriver, job: &Reserved, verdict: Verdict) -> LeaseOutcome {
    let settlement = Settlement {
        lease: job.lease.clone(),
        verdict,
    };
    driver.settle(vec![settlement]).await.unwrap()[0]
}

pub async fn ack(driver: &MysqlDriver, job: &Reserved) {
    assert_eq!(end(driver, job, Verdict::Ack).await, LeaseOutcome::Done);
}

pub fn retry(delay: Duration) -> Verdict {
    Verdict::Retry {
        delay,
        error: "it failed".into(),
    }
}

pub fn release() -> Verdict {
    Verdict::Release {
        delay: Duration::ZERO,
    }
}

pub fn dead() -> Verdict {
    Verdict::Dead {
        reason: DeadReason::Permanent,
        error: "it is bad".into(),
    }
}

pub async fn stats(driver: &MysqlDriver) -> QueueStats {
    driver.inspect().unwrap().stats(&queue("q")).await.unwrap()
}

/// Ready, scheduled, running, dead.
pub async fn counts(driver: &MysqlDriver) -> (u64, u64, u64, u64) {
    let stats = stats(driver).await;
    (stats.ready, stats.scheduled, stats.running, stats.dead)
}
