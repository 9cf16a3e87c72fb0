use std::time::Duration;

use super::{circuit::Rule, circuits::Circuits};
use crate::key::{Key, countable, keyed};

/// Spares a thing that is down, and the attempts of the jobs that need it: after so many failures in
/// a row no job of that key runs for a while. Then one runs as a trial, and its end decides for the
/// others. Jobs that may not run are snoozed, which spends no attempt.
///
/// A failure is an error that would be retried, a panic or a timeout. A success ends the row. Runs
/// that began before the circuit opened count no more once it has.
/// [`permanent`](goqueue_core::JobError::permanent), [`discard`](goqueue_core::JobError::discard)
/// and [`snooze`](goqueue_core::JobError::snooze) say something about the job and count as neither.
///
/// It tells job names apart unless told otherwise, and sees the jobs of this worker only.
///
/// It belongs outside of the layers that limit, and inside of what observes.
///
/// ```
/// use std::time::Duration;
/// use goqueue_middleware::CircuitBreakerLayer;
///
/// let layer = CircuitBreakerLayer::new(5, Duration::from_secs(30))
///     .by(|job| job.headers().get("host").cloned());
/// # let _ = layer;
/// ```
#[derive(Clone, Debug)]
pub struct CircuitBreakerLayer {
    pub(super) key: Key,
    pub(super) circuits: Circuits,
}

keyed!(CircuitBreakerLayer);

impl CircuitBreakerLayer {
    /// Opens after `failures` in a row, at least one, for as long as `open_for`, at most a year.
    #[must_use]
    pub fn new(failures: u32, open_for: Duration) -> Self {
        Self {
            key: Key::Name,
            circuits: Circuits::new(Rule {
                failures: failures.max(1),
                open_for: countable(open_for),
            }),
        }
    }
}
