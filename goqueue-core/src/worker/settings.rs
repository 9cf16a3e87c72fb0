use std::time::Duration;

use crate::{
    dead_letter::DeadLetterMode,
    job::QueueName,
    retry::{DEFAULT_MAX_ATTEMPTS, RetryPolicy},
};

/// A worker's settings, all checked.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) concurrency: usize,
    /// In order of preference, with their weights.
    pub(super) queues: Vec<(QueueName, u32)>,
    pub(super) strict: bool,
    pub(super) lease: Duration,
    pub(super) shutdown_grace: Duration,
    pub(super) timeout: Option<Duration>,
    pub(super) retry: RetryPolicy,
    pub(super) dead_letter: DeadLetterMode,
}

impl Settings {
    /// The retry schedule and the attempts of a job that may set its own.
    pub(super) fn retry_of(
        &self,
        policy: Option<RetryPolicy>,
        max_attempts: Option<u32>,
    ) -> (RetryPolicy, u32) {
        let policy_of_job = policy.unwrap_or(self.retry);
        let max_attempts = max_attempts
            .or(policy_of_job.attempts())
            .or(self.retry.attempts())
            .unwrap_or(DEFAULT_MAX_ATTEMPTS);
        (policy_of_job, max_attempts.max(1))
    }

    pub(super) fn queue_names(&self) -> Vec<QueueName> {
        self.queues.iter().map(|(name, _)| name.clone()).collect()
    }
}
