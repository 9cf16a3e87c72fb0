use std::time::Duration;

use super::places::Places;
use crate::key::{Key, keyed};

/// Runs no more than so many jobs of a key at once: one per customer, three per printer. The others
/// are snoozed, so they take no place in the worker and spend no attempt.
///
/// It counts each job name by itself unless told otherwise, and the jobs of this worker only. To run
/// the jobs of a key one at a time and in order over all workers, enqueue them with an ordering key.
///
/// It belongs outside of [`RateLimitLayer`](crate::rate_limit::RateLimitLayer) and
/// [`TimeoutLayer`](crate::timeout::TimeoutLayer).
///
/// ```
/// use goqueue_middleware::ConcurrencyLimitLayer;
///
/// let layer = ConcurrencyLimitLayer::new(1).by(|job| job.headers().get("customer").cloned());
/// # let _ = layer;
/// ```
#[derive(Clone, Debug)]
pub struct ConcurrencyLimitLayer {
    pub(super) most: usize,
    pub(super) snooze: Duration,
    pub(super) key: Key,
    pub(super) places: Places,
}

keyed!(ConcurrencyLimitLayer);

impl ConcurrencyLimitLayer {
    /// Runs up to `most` jobs of a key at once, at least one.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            snooze: Duration::from_secs(1),
            key: Key::Name,
            places: Places::default(),
        }
    }

    /// How long a job waits that found no place: 1 s unless set.
    #[must_use]
    pub fn snooze_for(mut self, delay: Duration) -> Self {
        self.snooze = delay;
        self
    }
}
