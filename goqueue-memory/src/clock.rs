use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

const NANOS_PER_MILLI: u32 = 1_000_000;

/// A point in a store's time, in nanoseconds. Arithmetic saturates: the
/// last one never comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    pub(crate) const START: Self = Self(0);

    /// The end of a delay, which counts in whole milliseconds, rounded up.
    pub(crate) fn after(self, delay: Duration) -> Self {
        let millis = delay
            .as_secs()
            .saturating_mul(1_000)
            .saturating_add(delay.subsec_nanos().div_ceil(NANOS_PER_MILLI).into());
        Self(
            self.0
                .saturating_add(millis.saturating_mul(NANOS_PER_MILLI.into())),
        )
    }

    /// How long it is since `earlier`; zero when that is still to come.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    pub(crate) fn nanos(self) -> u64 {
        self.0
    }

    pub(crate) fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }
}

/// Tokio's clock, plus what [`advance`](Clock::advance) added to it.
#[derive(Debug)]
pub(crate) struct Clock {
    origin: Instant,
    offset: Duration,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            origin: Instant::now(),
            offset: Duration::ZERO,
        }
    }

    pub(crate) fn now(&self) -> Moment {
        let passed = self.origin.elapsed().saturating_add(self.offset);
        // 584 years of nanoseconds fit.
        Moment(passed.as_nanos().try_into().unwrap_or(u64::MAX))
    }

    pub(crate) fn advance(&mut self, by: Duration) {
        self.offset = self.offset.saturating_add(by);
    }

    /// Milliseconds since the Unix epoch, by the system's clock and the same offset.
    pub(crate) fn unix_millis(&self) -> u64 {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        since
            .saturating_add(self.offset)
            .as_millis()
            .try_into()
            .unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_round_up_to_milliseconds_and_saturate() {
        let at = |delay| Moment::START.after(delay).nanos();
        assert_eq!(at(Duration::ZERO), 0);
        assert_eq!(at(Duration::from_nanos(1)), 1_000_000);
        assert_eq!(at(Duration::from_micros(1_000)), 1_000_000);
        assert_eq!(at(Duration::from_micros(1_001)), 2_000_000);
        assert_eq!(Moment::START.after(Duration::MAX), Moment(u64::MAX));
        assert_eq!(
            Moment(u64::MAX).after(Duration::from_secs(1)),
            Moment(u64::MAX)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn follows_tokio_and_the_offset() {
        let mut clock = Clock::start();
        tokio::time::advance(Duration::from_secs(2)).await;
        clock.advance(Duration::from_secs(3));
        assert_eq!(clock.now().since(Moment::START), Duration::from_secs(5));
        clock.advance(Duration::MAX);
        assert_eq!(clock.now(), Moment(u64::MAX));
    }
}
