//! Where jobs go that will not run again.

mod sink_fn;

use std::{fmt, str::FromStr};

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{
    error::{BoxError, Error},
    job::{JobId, QueueName},
};

pub use sink_fn::{SinkFn, sink_fn};

/// What a worker does with a job that will not run again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeadLetterMode {
    /// Keep it in the driver's dead letters (or the worker's own sink).
    #[default]
    Store,
    /// Drop it with a warning that names it.
    Discard,
}

/// What kind of end a job met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DeadReason {
    /// Its last attempt failed.
    Exhausted,
    /// Its handler said that no retry can mend it.
    Permanent,
    /// The worker that ran its last attempt never answered.
    WorkerLost,
    /// The stored bytes or the payload could not be read.
    Undecodable,
}

impl DeadReason {
    const ALL: [Self; 4] = [
        Self::Exhausted,
        Self::Permanent,
        Self::WorkerLost,
        Self::Undecodable,
    ];

    /// The name under which drivers store it.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Exhausted => "exhausted",
            Self::Permanent => "permanent",
            Self::WorkerLost => "worker_lost",
            Self::Undecodable => "undecodable",
        }
    }
}

impl fmt::Display for DeadReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for DeadReason {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|reason| reason.as_str() == text)
            .ok_or(Error::Invalid {
                what: "dead-letter reason",
                given: text.into(),
                allowed: "`exhausted`, `permanent`, `worker_lost` or `undecodable`",
            })
    }
}

/// A job on its way to a [`DeadLetters`] sink.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The job.
    pub id: JobId,
    /// Its name, where the stored bytes could be read.
    pub name: Option<String>,
    /// The queue it died in.
    pub queue: QueueName,
    /// What kind of end it was.
    pub reason: DeadReason,
    /// The last error.
    pub error: String,
    /// Deliveries in all.
    pub attempts: u32,
    /// When it died, by the worker's clock, in milliseconds since the Unix epoch.
    pub died_at: u64,
    /// The stored bytes, untouched: payload and headers.
    pub body: Bytes,
}

impl DeadLetter {
    /// A letter of a job whose stored bytes are `body`, with no name, for testing a sink.
    #[must_use]
    pub fn new(
        id: JobId,
        queue: QueueName,
        reason: DeadReason,
        error: impl Into<String>,
        body: Bytes,
    ) -> Self {
        let (name, error, attempts, died_at) = (None, error.into(), 1, 0);
        Self {
            id,
            name,
            queue,
            reason,
            error,
            attempts,
            died_at,
            body,
        }
    }
}

/// A place for dead letters other than the driver's own.
///
/// The job is acked only after `store` answered `Ok`; an error is logged and tried again with
/// backoff while the job's lease is kept. The same letter may come twice when a worker dies between
/// the two, so an implementation should key on its id.
///
/// Each driver's crate has one that keeps letters next to those of its own jobs, for jobs of any
/// driver; [`sink_fn`] makes one of a function.
#[async_trait]
pub trait DeadLetters: Send + Sync + 'static {
    /// Keeps one letter.
    ///
    /// # Errors
    /// Anything; the call is repeated.
    async fn store(&self, letter: DeadLetter) -> Result<(), BoxError>;
}
