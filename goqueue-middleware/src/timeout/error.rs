use std::{fmt, time::Duration};

/// A run took longer than its [`TimeoutLayer`](super::TimeoutLayer) allows. It counts as a failure,
/// and the job is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimedOut {
    /// How long it was allowed to take.
    pub limit: Duration,
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "timed out after {:?}", self.limit)
    }
}

impl std::error::Error for TimedOut {}
