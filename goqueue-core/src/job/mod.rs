//! Jobs: what they are called, what they carry, and what their handlers may answer.

mod envelope;
mod error;
mod id;
mod names;
mod options;

use std::future::Future;

use serde::{Serialize, de::DeserializeOwned};

use crate::context::JobContext;

pub(crate) use envelope::name_in;
pub use envelope::{ENVELOPE_VERSION, Envelope, EnvelopeError, Headers, TRACEPARENT};
pub use error::{JobError, JobErrorKind, JobResult};
pub use id::JobId;
pub use names::{DEFAULT_QUEUE, MAX_HEADER_NAME, MAX_JOB_NAME, MAX_KEY, MAX_QUEUE_NAME, QueueName};
pub(crate) use names::{check_header, check_job_name, check_key, is_name};
pub use options::JobOptions;
pub(crate) use options::check_whole_millis;

/// A typed job: a payload that serialises to JSON, under a name that outlives the type.
///
/// Usually derived. By hand it takes one line:
///
/// ```
/// use goqueue_core::Job;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Ping;
///
/// impl Job for Ping {
///     const NAME: &'static str = "ping";
/// }
/// ```
pub trait Job: Serialize + DeserializeOwned + Send + 'static {
    /// The name stored with every job of this type. Renaming it orphans the jobs already stored.
    const NAME: &'static str;

    /// The queue its jobs go to unless the call says otherwise.
    const QUEUE: &'static str = DEFAULT_QUEUE;

    /// What a job of this type asks of the queue. Keys may depend on the payload.
    fn options(&self) -> JobOptions {
        JobOptions::default()
    }
}

/// Runs a job.
///
/// The job is handed over by value: a handler owns its payload. It may be called more than once
/// for one job (at-least-once delivery), so its effects should be idempotent.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `Handler`",
    label = "this job type cannot be run",
    note = "write `impl Handler for {Self}`, or `#[job(register = false)]` in a program that only \
            enqueues it"
)]
pub trait Handler: Job {
    /// Does the work. See [`JobError`] for the answers beside `Ok(())` and plain errors.
    fn handle(self, cx: JobContext) -> impl Future<Output = JobResult> + Send;
}
