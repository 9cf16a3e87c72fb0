use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use crate::job::{JobId, QueueName};

/// Which jobs to take, and how long to wait for them.
#[derive(Clone, Debug)]
pub struct ReserveRequest {
    /// Where to look, the preferred queue first.
    pub queues: Vec<QueueShare>,
    /// The most jobs to take in all.
    pub max: usize,
    /// How long the reservation holds unless it is extended.
    pub lease: Duration,
    /// How long to wait for the first job.
    pub wait: Duration,
    /// Ends the wait early. What is reserved by then is still returned.
    pub cancel: CancellationToken,
}

/// How much of a reservation one queue may claim before the others had their turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueShare {
    /// The queue.
    pub queue: QueueName,
    /// Jobs it may fill in the first pass.
    pub share: usize,
}

/// A job handed to a worker.
#[derive(Clone, Debug)]
pub struct Reserved {
    /// The bytes that were pushed.
    pub body: Bytes,
    /// 1 for the first delivery, raised by each further one.
    pub attempt: u32,
    /// The right to settle it.
    pub lease: Lease,
}

/// The right to extend and settle one delivery of one job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The queue it was reserved from.
    pub queue: QueueName,
    /// The job.
    pub id: JobId,
    /// Tells this delivery from every other of the same job.
    pub token: LeaseToken,
}

/// A fencing token. Only the driver that made it can read it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct LeaseToken(Token);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Token {
    Number(u64),
    Text(Arc<str>),
}

impl LeaseToken {
    /// The number it was made from, if it was.
    #[must_use]
    pub fn as_number(&self) -> Option<u64> {
        match self.0 {
            Token::Number(number) => Some(number),
            Token::Text(_) => None,
        }
    }

    /// The text it was made from, if it was.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.0 {
            Token::Number(_) => None,
            Token::Text(text) => Some(text),
        }
    }
}

impl From<u64> for LeaseToken {
    fn from(number: u64) -> Self {
        Self(Token::Number(number))
    }
}

impl From<&str> for LeaseToken {
    fn from(text: &str) -> Self {
        Self(Token::Text(text.into()))
    }
}

impl From<String> for LeaseToken {
    fn from(text: String) -> Self {
        Self(Token::Text(text.into()))
    }
}

impl fmt::Debug for LeaseToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Token::Number(number) => number.fmt(f),
            Token::Text(text) => f.write_str(text),
        }
    }
}
