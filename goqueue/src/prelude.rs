//! What most programs import: `use goqueue::prelude::*;`.
//!
//! It has no `Result` and no `Error`, so that it goes beside anything else.

#[doc(no_inline)]
pub use crate::{
    Config, Enqueued, Handler, Job, JobContext, JobError, JobId, JobMetrics, JobOutcome, JobResult,
    Queue, RetryPolicy, Worker, shutdown_signal,
};
#[cfg(feature = "mysql")]
#[doc(no_inline)]
pub use goqueue_mysql::EnqueueIn;
