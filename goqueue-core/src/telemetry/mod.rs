//! Every span, field, target and metric name, and what is reported of a finished job.

mod job_metrics;

use std::time::{SystemTime, UNIX_EPOCH};

pub use job_metrics::{JobMetrics, JobOutcome};

/// Names of tracing spans.
pub mod span {
    /// One run of one job.
    pub const JOB: &str = "goqueue.job";
    /// The enqueueing of one job.
    pub const ENQUEUE: &str = "goqueue.enqueue";
    /// The publishing of messages to the log.
    pub const LOG_PUBLISH: &str = "goqueue.log.publish";
    /// The processing of one delivery of the log; see
    /// [`Delivery::span`](crate::log::Delivery::span).
    pub const LOG_PROCESS: &str = "goqueue.log.process";
    /// One call of one store of the log.
    pub const LOG_STORE: &str = "goqueue.log.store";
}

/// Targets of what the log says. `goqueue::log` in a filter is all of them. Stores say nothing: their
/// targets are those of the spans around their calls.
pub mod log_target {
    /// Everything else.
    pub const LOG: &str = "goqueue::log";
    /// Publishing.
    pub const PUBLISHER: &str = "goqueue::log::publisher";
    /// Subscriptions: supervisor, workers, acknowledgements.
    pub const SUBSCRIBER: &str = "goqueue::log::subscriber";
    /// Calls of the message store.
    pub const MESSAGE_STORE: &str = "goqueue::log::message_store";
    /// Calls of the delivery state store.
    pub const DELIVERY_STATE_STORE: &str = "goqueue::log::delivery_state_store";
    /// Calls of the offset store.
    pub const OFFSET_STORE: &str = "goqueue::log::offset_store";
    /// Calls of the partition lease store.
    pub const PARTITION_LEASE_STORE: &str = "goqueue::log::partition_lease_store";
    /// Calls of the subscriber heartbeat store.
    pub const SUBSCRIBER_HEARTBEAT_STORE: &str = "goqueue::log::subscriber_heartbeat_store";
    /// Operations across stores.
    pub const TRANSACTIONS: &str = "goqueue::log::transactions";
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
    /// What is done with the job, as goqueue calls it: `enqueue` or `process`.
    pub const OPERATION: &str = "messaging.operation.name";
    /// What kind of operation that is in the conventions: `create` or `process`.
    pub const OPERATION_TYPE: &str = "messaging.operation.type";
    /// The job type's name.
    pub const NAME: &str = "job.name";
    /// Which delivery it is, from 1.
    pub const ATTEMPT: &str = "job.attempt";
    /// How the run ended: a label of [`JobOutcome`](super::JobOutcome), [`PANICKED`] or [`DROPPED`].
    pub const OUTCOME: &str = "job.outcome";
    /// What the handler said when it failed.
    pub const ERROR: &str = "error";
    /// Of what kind the failure was, in few words.
    pub const ERROR_TYPE: &str = "error.type";

    /// The outcome of a run that panicked.
    pub const PANICKED: &str = "panicked";
    /// The outcome of a run that met its timeout or was told to stop.
    pub const DROPPED: &str = "dropped";
}

/// Names of metrics. Durations are in seconds.
pub mod metric {
    /// Counter: jobs stored, by queue and name.
    pub const ENQUEUED: &str = "goqueue_jobs_enqueued_total";
    /// Counter: jobs not stored because their unique key was taken, by queue and name.
    pub const DUPLICATES: &str = "goqueue_jobs_duplicate_total";
    /// Counter: jobs that the backend did not take, or not for certain, by queue and name.
    pub const ENQUEUE_ERRORS: &str = "goqueue_enqueue_errors_total";
    /// Counter: runs started, by queue and name.
    pub const STARTED: &str = "goqueue_jobs_started_total";
    /// Counter: runs ended, by queue, name and outcome.
    pub const FINISHED: &str = "goqueue_jobs_finished_total";
    /// Histogram: how long a run took, by queue and name.
    pub const DURATION: &str = "goqueue_job_duration_seconds";
    /// Histogram: from the enqueueing to the start of the run, by queue and name.
    pub const WAIT: &str = "goqueue_job_wait_seconds";
    /// Histogram: how many deliveries a job took to its end, by queue and name.
    pub const ATTEMPTS: &str = "goqueue_job_attempts";
    /// Gauge: jobs running, by queue and name.
    pub const IN_FLIGHT: &str = "goqueue_jobs_in_flight";
    /// Gauge: jobs that a queue holds, by queue and state.
    pub const DEPTH: &str = "goqueue_queue_depth";
    /// Gauge: how long the longest-waiting ready job has been due, by queue.
    pub const OLDEST_AGE: &str = "goqueue_queue_oldest_age_seconds";
    /// Counter: samplings of the queues that failed.
    pub const SAMPLE_ERRORS: &str = "goqueue_queue_sample_errors_total";
    /// Gauge: the share of the time in which a worker could not have done more, 0 to 1.
    pub const SATURATION: &str = "goqueue_worker_saturation";
    /// Gauge: how long the backend takes to hand out jobs, a moving average.
    pub const RESERVE_LATENCY: &str = "goqueue_worker_reserve_seconds";
    /// Gauge: how long the backend takes to write down how runs ended, a moving average.
    pub const SETTLE_LATENCY: &str = "goqueue_worker_settle_seconds";

    /// Histogram: how long a call of a store of the log took, by store, operation and outcome.
    pub const LOG_STORE_DURATION: &str = "goqueue_log_store_seconds";
    /// Counter: what became of messages, by topic, group, partition and event.
    pub const LOG_MESSAGES: &str = "goqueue_log_messages_total";
    /// Gauge: offsets between what a group has acked and the head, by topic, group and partition.
    pub const LOG_LAG: &str = "goqueue_log_lag";
    /// Gauge: how long ago the first message that is not acked was published, by topic, group and
    /// partition.
    pub const LOG_AGE: &str = "goqueue_log_age_seconds";

    /// Label: the topic of the log.
    pub const TOPIC_LABEL: &str = "topic";
    /// Label: the consumer group; empty for the publisher's side.
    pub const GROUP_LABEL: &str = "group";
    /// Label: the partition key.
    pub const PARTITION_LABEL: &str = "partition";
    /// Label: what became of messages, as [`EventKind::as_str`](crate::log::EventKind::as_str) tells
    /// it.
    pub const EVENT_LABEL: &str = "event";
    /// Label: the store, as [`StoreKind::as_str`](crate::log::StoreKind::as_str) tells it.
    pub const STORE_LABEL: &str = "store";
    /// Label: what a store was asked.
    pub const OPERATION_LABEL: &str = "operation";
    /// Label: the queue.
    pub const QUEUE_LABEL: &str = "queue";
    /// Label: the job type's name; [`UNKNOWN`] when a run's worker has no handler of that name, or
    /// the stored bytes could not be read.
    pub const NAME_LABEL: &str = "name";
    /// The name in figures of runs whose job type the worker does not know.
    pub const UNKNOWN: &str = "unknown";
    /// Label: how a run ended, as [`JobOutcome::as_str`](super::JobOutcome::as_str) tells it.
    pub const OUTCOME_LABEL: &str = "outcome";
    /// Label: `ready`, `scheduled`, `running` or `dead`.
    pub const STATE_LABEL: &str = "state";
}

/// Milliseconds since the Unix epoch; zero for times before it.
pub(crate) fn unix_millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().try_into().unwrap_or(u64::MAX)
}
