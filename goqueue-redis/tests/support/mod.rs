//! Private servers for tests that stop, fill or break them, and short words for the rest.

#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    clippy::unwrap_used,
    reason = "each test binary uses its part, and a test fails by panicking"
)]

mod buried;
mod cluster;
mod harness;
mod server;

use std::time::Duration;

use bytes::Bytes;
use goqueue_core::{
    Config, JobId, QueueName,
    dead_letter::DeadReason,
    driver::{Driver, Lease, NewJob, QueueShare, ReserveRequest, Reserved, Settlement, Verdict},
};
use goqueue_redis::RedisDriver;
use tokio_util::sync::CancellationToken;

pub use buried::{Hopeless, letter};
pub use cluster::Cluster;
pub use goqueue_conformance::server::{Proxy, free_port};
pub use harness::RedisHarness;
pub use server::{Server, line_to, shared_url, url_of, url_through};

pub const LEASE: Duration = Duration::from_secs(30);

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

pub async fn take(driver: &RedisDriver, queue_name: &str, max: usize) -> Vec<Reserved> {
    driver.reserve(request(queue_name, max)).await.unwrap()
}

pub fn ack(lease: &Lease) -> Settlement {
    Settlement {
        lease: lease.clone(),
        verdict: Verdict::Ack,
    }
}

pub fn settled(lease: &Lease, verdict: Verdict) -> Settlement {
    Settlement {
        lease: lease.clone(),
        verdict,
    }
}

pub fn retry(delay: Duration) -> Verdict {
    Verdict::Retry {
        delay,
        error: "went wrong".into(),
    }
}

pub fn dead(error: &str) -> Verdict {
    Verdict::Dead {
        reason: DeadReason::Permanent,
        error: error.into(),
    }
}

pub fn bodies(jobs: &[Reserved]) -> Vec<String> {
    jobs.iter()
        .map(|job| String::from_utf8_lossy(&job.body).into_owned())
        .collect()
}

pub async fn connect(url: &str) -> RedisDriver {
    RedisDriver::connect(&Config::default().with_driver(url))
        .await
        .unwrap()
}
