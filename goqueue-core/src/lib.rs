//! The contract of goqueue, and everything that keeps it apart from talking to a backend.
//!
//! Applications use the facade crate `goqueue`; this crate is for writers of drivers and
//! middleware. One job's way through it: [`Queue::enqueue`] encodes an [`Envelope`] and hands it to
//! a [`Driver`](driver::Driver); a [`Worker`] reserves it, decodes it, and runs its [`Handler`]
//! behind the [`middleware`] stack; the answer and the [`RetryPolicy`] give a
//! [`Verdict`](driver::Verdict), which the driver writes down.

pub mod config;
pub mod context;
pub mod dead_letter;
pub mod driver;
pub mod error;
pub mod job;
pub mod log;
pub mod middleware;
pub mod queue;
pub mod registry;
pub mod retry;
pub mod telemetry;
pub mod worker;

/// For implementing the traits of this crate that have async methods.
pub use async_trait::async_trait;
pub use config::Config;
pub use context::JobContext;
pub use dead_letter::{DeadLetter, DeadLetterMode, DeadLetters};
pub use error::{BoxError, Error, Result};
pub use job::{
    Envelope, Handler, Job, JobError, JobErrorKind, JobId, JobOptions, JobResult, QueueName,
};
pub use queue::{EnqueueHook, Enqueued, Queue};
pub use retry::RetryPolicy;
pub use telemetry::{JobMetrics, JobOutcome};
pub use worker::{Report, Worker, WorkerBuilder, WorkerHandle, WorkerStats, shutdown_signal};
