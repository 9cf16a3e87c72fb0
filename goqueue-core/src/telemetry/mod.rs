//! Every span, field, target and metric name, and what is reported of a finished job.

mod job_metrics;

use std::time::{SystemTime, UNIX_EPOCH};

pub use job_metrics::{JobMetrics, JobOutcome};

/// Names of tracing spans.
pub mod span {
    /// One run of one job.
    pub const JOB: &str = "goqueue.job";
}

/// Names of tracing fields, after the OpenTelemetry semantic conventions for messaging where they
/// have one.
pub mod field {
    /// The job's id.
    pub const ID: &str = "messaging.message.id";
    /// The queue.
    pub const QUEUE: &str = "messaging.destination.name";
    /// The backend.
    pub const SYSTEM: &str = "messaging.system";
    /// The job type's name.
    pub const NAME: &str = "job.name";
    /// Which delivery it is, from 1.
    pub const ATTEMPT: &str = "job.attempt";
    /// How the run ended: a label of [`JobOutcome`](super::JobOutcome), [`PANICKED`] or [`DROPPED`].
    pub const OUTCOME: &str = "job.outcome";
    /// What the handler said when it failed.
    pub const ERROR: &str = "error";

    /// The outcome of a run that panicked.
    pub const PANICKED: &str = "panicked";
    /// The outcome of a run that met its timeout or was told to stop.
    pub const DROPPED: &str = "dropped";
}

/// Names of metrics. Durations are in seconds.
pub mod metric {
    /// Counter: jobs stored.
    pub const ENQUEUED: &str = "goqueue_jobs_enqueued_total";
    /// Counter: runs started.
    pub const STARTED: &str = "goqueue_jobs_started_total";
    /// Counter: runs ended, by outcome.
    pub const FINISHED: &str = "goqueue_jobs_finished_total";
    /// Histogram: how long a run took.
    pub const DURATION: &str = "goqueue_job_duration_seconds";
    /// Histogram: from the enqueueing to the start of the run.
    pub const WAIT: &str = "goqueue_job_wait_seconds";
    /// Gauge: jobs running.
    pub const IN_FLIGHT: &str = "goqueue_jobs_in_flight";
}

/// Milliseconds since the Unix epoch; zero for times before it.
pub(crate) fn unix_millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().try_into().unwrap_or(u64::MAX)
}
