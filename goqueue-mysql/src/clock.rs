//! Time as the tables know it: milliseconds since the Unix epoch, by the server's clock.

use std::time::Duration;

/// The server's time. Arithmetic on UTC alone, so that no time zone, of the session or of the
/// server, can change it; constant within a statement.
pub(crate) const NOW: &str =
    "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000)";

/// What `visible_after` is raised by while an earlier job of its ordering key holds a job.
pub(crate) const HELD: i64 = 1 << 62;
/// Every `visible_after` from here on is a held one, and every other is below.
pub(crate) const HELD_FROM: i64 = 1 << 61;
/// A time that never comes.
pub(crate) const NEVER: i64 = i64::MAX;

/// The longest time that is told from for ever: some 285,000 years.
const LONGEST: u128 = 1 << 53;

/// A delay in milliseconds. One more than it has, unless it is zero: the part of a millisecond that
/// had passed when it was counted from must not make it short.
pub(crate) fn delay(delay: Duration) -> i64 {
    if delay.is_zero() {
        return 0;
    }
    millis(delay) + 1
}

/// A duration in whole milliseconds, rounded up.
pub(crate) fn millis(duration: Duration) -> i64 {
    let millis = duration.as_nanos().div_ceil(1_000_000).min(LONGEST);
    i64::try_from(millis).unwrap_or(i64::MAX)
}

/// Milliseconds that a query answered with; what lies in the past is zero.
pub(crate) fn duration(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_rounded_up_and_never_reach_the_held() {
        assert_eq!(delay(Duration::ZERO), 0);
        assert_eq!(delay(Duration::from_nanos(1)), 2);
        assert_eq!(delay(Duration::from_millis(5)), 6);
        let now = 1 << 42;
        assert!(now + delay(Duration::MAX) < HELD_FROM);
        assert!(HELD - now > HELD_FROM && HELD.checked_add(now + delay(Duration::MAX)).is_some());
    }
}
