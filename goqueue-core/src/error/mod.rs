//! The one error type that a caller of goqueue meets.

use std::{fmt, sync::Arc, time::Duration};

use crate::{config::ConfigError, queue::BulkError};

/// Any boxed error, as tower and most libraries pass it on.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong outside a handler.
///
/// Handlers answer with [`JobError`](crate::JobError) instead. Ask
/// [`is_transient`](Error::is_transient) to tell "try again" from "mend something first".
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),

    /// The backend cannot keep this clause of the contract, so the call was refused.
    #[error("driver `{driver}` does not support {capability}; nothing was stored")]
    Unsupported {
        /// The driver's name, as in its URL scheme.
        driver: &'static str,
        /// What was asked for, in the words of [`Capabilities`](crate::driver::Capabilities).
        capability: &'static str,
    },

    /// The URL names a driver that goqueue does not have.
    #[error("unknown driver `{given}`: allowed are {allowed}")]
    UnknownDriver {
        /// The scheme that was given.
        given: String,
        /// Every scheme that goqueue knows.
        allowed: String,
    },

    /// The driver exists but was not compiled into this program.
    #[error(
        "driver `{driver}` is not compiled in: enable the Cargo feature `{feature}` of `goqueue` \
         (compiled in: {compiled})"
    )]
    DriverNotCompiled {
        /// The scheme that was given.
        driver: String,
        /// The Cargo feature of the facade that brings it.
        feature: &'static str,
        /// The drivers this program has.
        compiled: String,
    },

    /// A name, key or header is not one that every backend can carry.
    #[error("invalid {what} `{given}`: {allowed}")]
    Invalid {
        /// What the value was meant to be, such as "queue name".
        what: &'static str,
        /// The value, as given.
        given: String,
        /// The rule it breaks.
        allowed: &'static str,
    },

    /// The job is larger than the backend takes. Refused before anything was sent.
    #[error("job `{name}` is {size} bytes encoded, more than the {limit} that `{driver}` takes")]
    PayloadTooLarge {
        /// The job's name.
        name: String,
        /// The driver's name.
        driver: &'static str,
        /// Size of the encoded envelope in bytes.
        size: usize,
        /// The most that one job may take, in bytes.
        limit: usize,
    },

    /// The message of the log is larger than the backend takes. Refused before anything was sent.
    #[error("message `{id}` is {size} bytes, more than the {limit} that `{driver}` takes")]
    MessageTooLarge {
        /// The message's id.
        id: String,
        /// The driver's name.
        driver: &'static str,
        /// Its size with id, partition key and metadata, in bytes.
        size: usize,
        /// The most that one message may take, in bytes.
        limit: usize,
    },

    /// The job lies further ahead than the backend can hold it.
    #[error("a delay of {delay:?} is more than the {limit:?} that `{driver}` allows")]
    DelayTooLong {
        /// The driver's name.
        driver: &'static str,
        /// The delay that was asked for.
        delay: Duration,
        /// The longest the driver takes.
        limit: Duration,
    },

    /// A hook of the queue refused the job, so nothing was stored.
    #[error("job `{name}` was refused: {source}")]
    Refused {
        /// The job's name.
        name: String,
        /// What the hook said.
        source: BoxError,
    },

    /// The payload could not be turned into JSON.
    #[error("the payload of job `{name}` does not encode as JSON: {source}")]
    Encode {
        /// The job's name.
        name: String,
        /// What the encoder said.
        source: serde_json::Error,
    },

    /// The queue holds as many jobs as it was allowed to.
    #[error(
        "queue `{queue}` is full: {capacity} jobs are stored, which is its capacity; the job was \
         not stored"
    )]
    QueueFull {
        /// The queue that refused.
        queue: String,
        /// The configured capacity in jobs.
        capacity: usize,
    },

    /// Two job types claim one name.
    #[error(
        "job name `{name}` is registered twice: by `{first}` and by `{second}`; give one of them \
         another `#[job(name = \"…\")]`"
    )]
    DuplicateJob {
        /// The name both claim.
        name: String,
        /// The type that was there first.
        first: &'static str,
        /// The type that came second.
        second: &'static str,
    },

    /// The worker knows no job type, so every job would fail.
    #[error(
        "the worker has no job types: derive `Job` in a crate that this program names, or add \
         them with `Worker::builder(..).register::<T>()`"
    )]
    EmptyRegistry,

    /// A setting of a worker or a queue is out of range.
    #[error("invalid setting `{setting}`: got {given}, allowed is {allowed}")]
    InvalidSetting {
        /// The builder method or option.
        setting: &'static str,
        /// The value, as given.
        given: String,
        /// What would have been accepted.
        allowed: &'static str,
    },

    /// Some jobs of a batch are not stored; it answers for each one.
    #[error(transparent)]
    PartialBatch(BulkError),

    /// The call that carried this job of a batch failed as a whole.
    #[error(transparent)]
    Batch(Arc<Error>),

    /// The backend did not answer in time. Whether it acted is not known.
    #[error("{operation} got no answer from driver `{driver}` within {after:?}")]
    Timeout {
        /// The driver's name.
        driver: &'static str,
        /// What was asked.
        operation: &'static str,
        /// How long was waited.
        after: Duration,
    },

    /// The backend or the connection to it failed.
    #[error("driver `{driver}` failed to {operation}: {source}")]
    Backend {
        /// The driver's name.
        driver: &'static str,
        /// What was asked, as a verb: "push", "reserve".
        operation: &'static str,
        /// Whether the same call may succeed later without anyone mending anything.
        transient: bool,
        /// The client library's error, already free of secrets.
        source: BoxError,
    },

    /// The message has been delivered again since, so this delivery can no longer say what becomes
    /// of it. Nothing was changed.
    #[error("the lease on message `{message}` is lost: it has been delivered again since")]
    LeaseLost {
        /// Topic, partition and offset.
        message: String,
    },

    /// The driver was closed.
    #[error("driver `{driver}` is closed")]
    Closed {
        /// The driver's name.
        driver: &'static str,
    },
}

impl Error {
    /// Whether the same call may succeed later without anyone mending anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Error::Timeout { .. } | Error::QueueFull { .. } => true,
            Error::Backend { transient, .. } => *transient,
            Error::PartialBatch(batch) => batch.is_transient(),
            Error::Batch(error) => error.is_transient(),
            _ => false,
        }
    }

    /// Whether a worker must stop on this error: nothing but a person can mend it.
    pub(crate) fn is_fatal(&self) -> bool {
        matches!(
            self,
            Error::Config(_) | Error::Unsupported { .. } | Error::Closed { .. }
        )
    }
}

/// The message, as in `Display`: a `main` that returns an error prints its `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
