use std::{fmt, time::Duration};

use crate::{
    dead_letter::DeadReason,
    job::{JobId, QueueName},
};

/// What is reported of one run of one job, once the backend has confirmed its end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JobMetrics {
    /// The job.
    pub id: JobId,
    /// The job type's name; `None` when the stored bytes could not be read.
    pub name: Option<String>,
    /// Whether the worker has a handler for that name. Nobody bounds the number of names without
    /// one, so figures by name should take those together.
    pub has_handler: bool,
    /// The queue.
    pub queue: QueueName,
    /// Which delivery it was, from 1.
    pub attempt: u32,
    /// How it ended.
    pub outcome: JobOutcome,
    /// How long the handler and its middleware took.
    pub duration: Duration,
    /// From the enqueueing to the start of this run, by the clocks of both sides.
    pub wait: Duration,
    /// The handler's error, if it gave one.
    pub error: Option<String>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobOutcome {
    /// The handler succeeded.
    Succeeded,
    /// It failed and runs again after this long.
    Retried(Duration),
    /// It asked to run again after this long.
    Snoozed(Duration),
    /// It asked to be dropped.
    Discarded,
    /// It will not run again.
    Dead(DeadReason),
    /// It was given back unfinished because the worker stopped.
    Released,
    /// Another worker may have it: what this run answered was not recorded.
    LeaseLost,
}

impl JobOutcome {
    /// Whether the job will not run again.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Succeeded | Self::Discarded | Self::Dead(_))
    }

    /// The outcome as a label without its numbers.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Retried(_) => "retried",
            Self::Snoozed(_) => "snoozed",
            Self::Discarded => "discarded",
            Self::Dead(_) => "dead",
            Self::Released => "released",
            Self::LeaseLost => "lease_lost",
        }
    }
}

impl fmt::Display for JobOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
