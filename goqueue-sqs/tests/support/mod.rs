//! The services that tests talk to, and short words for what they do.

#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    clippy::unwrap_used,
    reason = "each test binary uses its part, and a test fails by panicking"
)]

mod answering;
mod harness;
mod proxy;

use std::time::Duration;

use bytes::Bytes;
use goqueue_core::{
    Config, JobId, QueueName,
    dead_letter::DeadReason,
    driver::{
        Driver, Lease, LeaseOutcome, NewJob, QueueShare, ReserveRequest, Reserved, Settlement,
        Verdict,
    },
};
use goqueue_sqs::SqsDriver;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use answering::answering;
pub use harness::{Kind, Service, SqsHarness};
pub use proxy::{Instead, Proxy};

/// The service that is quick, and refuses receipts that are over.
pub const MINISTACK: Service = Service {
    name: "ministack",
    variable: "GOQUEUE_TEST_SQS_URL",
};

/// The service that is strict about limits.
pub const LOCALSTACK: Service = Service {
    name: "localstack",
    variable: "GOQUEUE_TEST_SQS_STRICT_URL",
};

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

pub fn request(queue_name: &str, max: usize, wait: Duration) -> ReserveRequest {
    ReserveRequest {
        queues: vec![QueueShare {
            queue: queue(queue_name),
            share: max,
        }],
        max,
        lease: LEASE,
        wait,
        cancel: CancellationToken::new(),
    }
}

pub async fn take(driver: &SqsDriver, queue_name: &str, max: usize) -> Vec<Reserved> {
    let request = request(queue_name, max, Duration::ZERO);
    driver.reserve(request).await.unwrap()
}

/// The next job, within `patience`.
pub async fn next(driver: &SqsDriver, queue_name: &str, patience: Duration) -> Reserved {
    let until = Instant::now() + patience;
    while Instant::now() < until {
        if let Some(job) = take(driver, queue_name, 1).await.pop() {
            return job;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no job of `{queue_name}` came within {patience:?}");
}

pub async fn settle(driver: &SqsDriver, lease: &Lease, verdict: Verdict) -> LeaseOutcome {
    let lease = lease.clone();
    let settlement = Settlement { lease, verdict };
    driver.settle(vec![settlement]).await.unwrap()[0]
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

pub async fn connect(url: &str) -> SqsDriver {
    connect_with(url, "").await
}

/// Connects with more lines in the table `[sqs]`.
pub async fn connect_with(url: &str, table: &str) -> SqsDriver {
    let text = format!("[sqs]\n{table}");
    let config = Config::from_toml(&text).unwrap().with_driver(url);
    SqsDriver::connect(&config).await.unwrap()
}

/// The SDK's own client on the service of a URL, for what no driver does.
pub fn raw(url: &str) -> aws_sdk_sqs::Client {
    let endpoint = url
        .split("endpoint=")
        .nth(1)
        .unwrap()
        .split('&')
        .next()
        .unwrap();
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version_latest()
        .region(aws_sdk_sqs::config::Region::new("us-east-1"))
        .credentials_provider(aws_sdk_sqs::config::Credentials::new(
            "k", "s", None, None, "test",
        ))
        .endpoint_url(endpoint);
    aws_sdk_sqs::Client::from_conf(config.build())
}

/// What the service calls a queue of a driver URL.
pub fn on_sqs(url: &str, name: &str) -> String {
    let prefix = url
        .split("us-east-1/")
        .nth(1)
        .unwrap()
        .split('?')
        .next()
        .unwrap();
    let suffix = if url.contains("fifo=true") {
        ".fifo"
    } else {
        ""
    };
    format!("{prefix}{name}{suffix}")
}

/// The URL of that queue.
pub async fn url_of(url: &str, name: &str) -> String {
    let answer = raw(url)
        .get_queue_url()
        .queue_name(on_sqs(url, name))
        .send()
        .await;
    answer.unwrap().queue_url.unwrap()
}
