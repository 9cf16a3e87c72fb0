use std::time::Duration;

use crate::error::Error;

/// How a backend answered a ping.
#[derive(Debug)]
#[non_exhaustive]
pub struct QueueHealth {
    /// The driver's name.
    pub driver: &'static str,
    /// How long the answer took, good or bad. At most the deadline of an enqueueing.
    pub latency: Duration,
    /// Why it cannot serve; `None` when it can.
    pub error: Option<Error>,
}

impl QueueHealth {
    /// Whether the backend answered that it can serve.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.error.is_none()
    }
}
