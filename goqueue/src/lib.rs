//! Background jobs: typed jobs, one contract, many backends.
//!
//! A job is a type that serialises. Enqueueing stores it in a backend; a worker, in the same program
//! or another, takes it out again and runs its handler.
//!
// On its own: doctests that share a program share its job names too.
#![cfg_attr(feature = "memory", doc = "```standalone_crate")]
#![cfg_attr(not(feature = "memory"), doc = "```no_run")]
//! use goqueue::prelude::*;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Job)]
//! #[job(name = "mail.welcome", queue = "mail", max_attempts = 5, timeout = "30s")]
//! struct WelcomeMail { user_id: u64 }
//!
//! impl Handler for WelcomeMail {
//!     async fn handle(self, _cx: JobContext) -> JobResult {
//!         println!("welcome, user {}", self.user_id);
//!         Ok(())
//!     }
//! }
//!
//! #[tokio::main]
//! async fn main() -> goqueue::Result<()> {
//!     let queue = Queue::connect_url("memory://").await?;
//!     queue.enqueue(WelcomeMail { user_id: 1 }).await?;
//!     let report = Worker::builder(&queue).build()?.drain().await?;
//!     assert_eq!(report.finished, 1);
//!     Ok(())
//! }
//! ```
//!
//! [`Worker::drain`] returns when nothing is left to run. A service calls
//! `run_until(goqueue::shutdown_signal())` in its place, and usually takes the backend and the rest
//! from a file and the environment: `Queue::connect(&Config::load()?)`.
//!
//! # What holds on every backend
//!
//! - **At least once.** A job that was enqueued runs to success, reaches the dead letters, or is
//!   dropped by a setting that logs it. It may run more than once, so handlers should be idempotent;
//!   [`JobContext::id`] is the same on every attempt.
//! - **One holder.** A worker that lost its lease cannot overwrite what another did since.
//! - **One retry schedule**, whatever stores the job: see [`RetryPolicy`].
//! - **Nothing is ignored.** What a backend cannot do is refused with [`Error::Unsupported`].
//!
//! # Drivers
//!
//! | URL | Cargo feature |
//! | --- | --- |
//! | `memory://` | `memory` (default) |
//! | `redis://`, `rediss://`, `redis+unix://`, `redis-cluster://`, `rediss-cluster://` | `redis` |
//! | `mysql://` | `mysql` |
//! | `sqs://` | `sqs` |
//!
//! A URL whose driver is not compiled in gives an error that names the feature.
//! [`Queue::new`] takes a driver of your own.
//!
//! # Where things are
//!
//! - [`prelude`]: what most programs import.
//! - [`Queue`]: enqueueing. [`Worker`]: running. [`JobContext`]: what a handler knows of its run.
//! - [`JobError`]: what a handler may answer beside `Ok(())`.
//! - [`derive@Job`]: the attributes of a job type.
//! - [`config`]: the file and its variables.
//! - [`middleware`]: layers around every job.
//! - [`log`]: the partitioned message log, with consumer groups.
//! - [`driver`]: what a backend implements.
#![cfg_attr(feature = "memory", doc = "- [`testing`]: jobs in tests.")]

mod drivers;
pub mod middleware;
pub mod prelude;

#[doc(inline)]
pub use goqueue_core::{
    BoxError, Config, DeadLetter, DeadLetterMode, DeadLetters, EnqueueHook, Enqueued, Envelope,
    Error, Handler, Job, JobContext, JobError, JobErrorKind, JobId, JobMetrics, JobOptions,
    JobOutcome, JobResult, Queue, QueueName, Report, Result, RetryPolicy, Worker, WorkerBuilder,
    WorkerHandle, WorkerStats, async_trait, config, context, dead_letter, driver, error, job, log,
    queue, registry, retry, shutdown_signal, telemetry, worker,
};
pub use goqueue_macros::Job;

/// The in-process driver.
#[cfg(feature = "memory")]
#[doc(inline)]
pub use goqueue_memory as memory;
#[cfg(feature = "memory")]
#[doc(inline)]
pub use goqueue_memory::testing;

/// The MySQL and MariaDB driver.
#[cfg(feature = "mysql")]
#[doc(inline)]
pub use goqueue_mysql as mysql;
/// The Redis driver.
#[cfg(feature = "redis")]
#[doc(inline)]
pub use goqueue_redis as redis;
/// The Amazon SQS driver.
#[cfg(feature = "sqs")]
#[doc(inline)]
pub use goqueue_sqs as sqs;

/// What the derive's code names. No part of the public interface.
#[doc(hidden)]
pub mod __private {
    pub use goqueue_core::registry::{self, Registration};
    pub use inventory;
    pub use serde::{Serialize, de::DeserializeOwned};
}

/// The README's program, kept compiling.
#[cfg(all(doctest, feature = "memory"))]
#[doc = include_str!("../../README.md")]
pub struct Readme;
