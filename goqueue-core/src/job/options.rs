use std::time::Duration;

use crate::{
    error::{Error, Result},
    retry::RetryPolicy,
};

/// What a job asks of the queue, beside its payload.
///
/// A job type states its own through [`Job::options`](crate::Job::options); each call to
/// [`Queue::enqueue`](crate::Queue::enqueue) may override them. What is left `None` falls back to
/// the worker's settings.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct JobOptions {
    /// How many times the job may run in all, the first included.
    pub max_attempts: Option<u32>,
    /// How long one run may take before it is dropped and counted as a failure.
    pub timeout: Option<Duration>,
    /// The retry schedule.
    pub retry: Option<RetryPolicy>,
    /// Jobs with this key run one at a time and in the order they were enqueued.
    pub ordering_key: Option<String>,
    /// While a job with this key waits or runs, enqueueing another in its queue stores nothing.
    pub unique_key: Option<String>,
    /// Keeps the unique key taken for this long from the enqueueing, even after the job is done.
    pub unique_for: Option<Duration>,
}

impl JobOptions {
    /// Takes what `over` sets and keeps the rest.
    pub(crate) fn overridden_by(self, over: JobOptions) -> JobOptions {
        JobOptions {
            max_attempts: over.max_attempts.or(self.max_attempts),
            timeout: over.timeout.or(self.timeout),
            retry: over.retry.or(self.retry),
            ordering_key: over.ordering_key.or(self.ordering_key),
            unique_key: over.unique_key.or(self.unique_key),
            unique_for: over.unique_for.or(self.unique_for),
        }
    }
}

/// Refuses what would be stored as zero: durations are kept in whole milliseconds.
pub(crate) fn check_whole_millis(setting: &'static str, given: Option<Duration>) -> Result<()> {
    match given {
        Some(given) if given < Duration::from_millis(1) => Err(Error::InvalidSetting {
            setting,
            given: format!("{given:?}"),
            allowed: "1ms or more; leave it out for none",
        }),
        _ => Ok(()),
    }
}
