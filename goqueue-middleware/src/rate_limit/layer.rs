use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::window::Window;
use crate::key::{Key, countable, keyed};

/// The longest that a job over the limit is snoozed. When its turn is further off, it asks again
/// then.
pub const MAX_SNOOZE: Duration = Duration::from_secs(600);

/// How many keys to keep before looking for those that are over.
const MANY_KEYS: usize = 1024;

/// Starts no more than so many jobs of a key in any period: what an API allows a customer, say. Jobs
/// over the limit are snoozed until their turn, so they take no place in the worker and spend no
/// attempt.
///
/// It counts each job name by itself unless told otherwise, and the jobs of this worker only: with
/// `n` workers allow each an `n`th. Which of the waiting jobs comes first is left open.
///
/// Unlike this one, the rate limit of the `tower` crate makes jobs wait in the worker, where each
/// fills a slot.
///
/// It belongs inside of everything else that keeps a job from running, so that what it counts does
/// run, and outside of [`TimeoutLayer`](crate::timeout::TimeoutLayer).
///
/// ```
/// use std::time::Duration;
/// use goqueue_middleware::RateLimitLayer;
///
/// let layer = RateLimitLayer::new(10, Duration::from_secs(1))
///     .by(|job| job.headers().get("customer").cloned());
/// # let _ = layer;
/// ```
#[derive(Clone, Debug)]
pub struct RateLimitLayer {
    most: usize,
    per: Duration,
    pub(super) key: Key,
    windows: Arc<Mutex<Windows>>,
}

keyed!(RateLimitLayer);

#[derive(Debug)]
struct Windows {
    by_key: HashMap<String, Window>,
    tidy_at: usize,
}

impl RateLimitLayer {
    /// Starts up to `most` jobs of a key, at least one, in any stretch of time as long as `per`, at
    /// most a year.
    #[must_use]
    pub fn new(most: usize, per: Duration) -> Self {
        Self {
            most: most.max(1),
            per: countable(per),
            key: Key::Name,
            windows: Arc::new(Mutex::new(Windows {
                by_key: HashMap::new(),
                tidy_at: MANY_KEYS,
            })),
        }
    }

    /// Takes down a start, or answers how long to stay away.
    pub(super) fn take(&self, key: &str) -> Result<(), Duration> {
        let now = Instant::now();
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(window) = windows.by_key.get_mut(key) {
            return window.take(now, self.most, self.per);
        }
        windows.tidy(now, self.per);
        let window = windows.by_key.entry(key.to_owned()).or_default();
        window.take(now, self.most, self.per)
    }
}

impl Windows {
    /// Drops keys that are over, each time that their number has doubled.
    fn tidy(&mut self, now: Instant, per: Duration) {
        if self.by_key.len() >= self.tidy_at {
            self.by_key.retain(|_, window| !window.is_over(now, per));
            self.tidy_at = (self.by_key.len() * 2).max(MANY_KEYS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn keys_that_are_over_are_forgotten() {
        let layer = RateLimitLayer::new(1, Duration::from_secs(1));
        let keys = || layer.windows.lock().unwrap().by_key.len();
        for at in 0..MANY_KEYS {
            assert!(layer.take(&format!("old {at}")).is_ok());
        }
        assert_eq!(keys(), MANY_KEYS);
        assert!(layer.take("old 0").is_err());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(layer.take("new").is_ok());
        assert_eq!(keys(), 1);
    }
}
