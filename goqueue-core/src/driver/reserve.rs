use std::{
    any::Any,
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
    time::Duration,
};

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

#[derive(Clone)]
enum Token {
    Number(u64),
    Text(Arc<str>),
    Shared(Arc<dyn Any + Send + Sync>),
}

impl LeaseToken {
    /// A token that is a value of the driver's own, for what it has to know of a delivery and
    /// cannot ask its backend. It equals its clones and no other token.
    #[must_use]
    pub fn shared<T: Any + Send + Sync>(value: Arc<T>) -> Self {
        Self(Token::Shared(value))
    }

    /// The value it was made from, if it was one of this type.
    #[must_use]
    pub fn as_shared<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        match &self.0 {
            Token::Shared(value) => Arc::clone(value).downcast().ok(),
            Token::Number(_) | Token::Text(_) => None,
        }
    }

    /// The number it was made from, if it was.
    #[must_use]
    pub fn as_number(&self) -> Option<u64> {
        match self.0 {
            Token::Number(number) => Some(number),
            Token::Text(_) | Token::Shared(_) => None,
        }
    }

    /// The text it was made from, if it was.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.0 {
            Token::Text(text) => Some(text),
            Token::Number(_) | Token::Shared(_) => None,
        }
    }
}

/// Where a shared value lies, which no other has while a token holds it.
fn address(value: &Arc<dyn Any + Send + Sync>) -> usize {
    Arc::as_ptr(value).cast::<()>() as usize
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(one), Self::Number(two)) => one == two,
            (Self::Text(one), Self::Text(two)) => one == two,
            (Self::Shared(one), Self::Shared(two)) => address(one) == address(two),
            _ => false,
        }
    }
}

impl Eq for Token {}

impl Hash for Token {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Number(number) => number.hash(state),
            Self::Text(text) => text.hash(state),
            Self::Shared(value) => address(value).hash(state),
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
            Token::Shared(value) => write!(f, "{:#x}", address(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_token_equals_its_clones_only_and_gives_its_value_back() {
        let value = Arc::new(String::from("receipt"));
        let token = LeaseToken::shared(Arc::clone(&value));
        assert_eq!(token, token.clone());
        assert_ne!(token, LeaseToken::shared(Arc::new((*value).clone())));
        assert_ne!(token, LeaseToken::from("receipt"));
        assert_eq!(token.as_shared::<String>(), Some(value));
        assert!(token.as_shared::<u64>().is_none() && token.as_text().is_none());
        assert!(!format!("{token:?}").contains("receipt"));
    }
}
