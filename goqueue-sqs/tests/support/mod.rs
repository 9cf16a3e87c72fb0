//! The services that tests talk to, and short words for what they do.

#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    clippy::unwrap_used,
    reason = "each test binary uses its part, and a test fails by panicking"
)]

mod harness;

use std::time::Duration;

use goqueue_core::{Config, JobId};
use goqueue_sqs::SqsDriver;

pub use harness::{Kind, Service, SqsHarness};

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
