use goqueue_core::{
    EnqueueHook, Enqueued, Result,
    queue::EnqueuedJob,
    telemetry::metric::{DUPLICATES, ENQUEUE_ERRORS, ENQUEUED},
};
use metrics::counter;

use super::labels;

/// Counts what is enqueued through a queue handle, for
/// [`Queue::with_hook`](goqueue_core::Queue::with_hook).
///
/// Jobs that were refused before the backend was asked are not counted, nor are those that were
/// enqueued in the caller's own transaction.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct MetricsHook {}

impl MetricsHook {
    /// The hook.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl EnqueueHook for MetricsHook {
    fn after(&self, job: &EnqueuedJob, answer: &Result<Enqueued>) {
        let counted = match answer {
            Ok(Enqueued::Stored(_)) => ENQUEUED,
            Ok(Enqueued::Duplicate(_)) => DUPLICATES,
            Err(_) => ENQUEUE_ERRORS,
        };
        let labels = labels(job.queue.as_str(), &job.name);
        counter!(counted, &labels).increment(1);
    }
}
