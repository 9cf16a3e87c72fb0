use std::{fmt, time::Duration};

use backoff::{ExponentialBackoff, ExponentialBackoffBuilder, backoff::Backoff};

/// Pauses between tries of a failing driver call: 50 ms growing by half each time up to 5 s, each
/// spread by a quarter so that a fleet of workers does not come back in step. It never gives up.
///
/// This is the one place that uses the `backoff` crate.
pub struct TransientBackoff(ExponentialBackoff);

impl TransientBackoff {
    /// A backoff that starts at the shortest pause.
    #[must_use]
    pub fn new() -> Self {
        Self(
            ExponentialBackoffBuilder::new()
                .with_initial_interval(Duration::from_millis(50))
                .with_multiplier(1.5)
                .with_max_interval(Duration::from_secs(5))
                .with_randomization_factor(0.25)
                .with_max_elapsed_time(None)
                .build(),
        )
    }

    /// The next pause, longer than the last one until the longest is reached.
    pub fn next_pause(&mut self) -> Duration {
        self.0.next_backoff().unwrap_or(self.0.max_interval)
    }

    /// Starts over after a success.
    pub fn reset(&mut self) {
        self.0.reset();
    }
}

impl Default for TransientBackoff {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TransientBackoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransientBackoff")
            .field("next", &self.0.current_interval)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_ceiling_and_start_over() {
        let mut backoff = TransientBackoff::new();
        assert!(backoff.next_pause() <= Duration::from_millis(63));
        let last = (0..100).map(|_| backoff.next_pause()).last().unwrap();
        assert!((3_750..=6_250).contains(&last.as_millis()), "{last:?}");
        backoff.reset();
        assert!(backoff.next_pause() <= Duration::from_millis(63));
    }
}
