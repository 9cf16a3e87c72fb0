use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

/// The service's clock, as far as this process knows it: its own, corrected by what the service said
/// of a message that it handed out for the first time. Behind by the way of that answer, and never
/// ahead, so that nothing is due early by it.
#[derive(Debug, Default)]
pub(crate) struct ServerClock {
    ahead: AtomicI64,
}

impl ServerClock {
    /// Milliseconds since the Unix epoch.
    pub(crate) fn now(&self) -> u64 {
        own().saturating_add_signed(self.ahead.load(Ordering::Relaxed))
    }

    /// Takes down that the service's clock showed `time` a moment ago.
    pub(crate) fn was(&self, time: u64) {
        let ahead = i128::from(time) - i128::from(own());
        let ahead = ahead.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        self.ahead.store(ahead, Ordering::Relaxed);
    }
}

/// This machine's own clock, in milliseconds since the Unix epoch.
pub(crate) fn own() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    since.as_millis().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_a_service_that_is_ahead_or_behind() {
        const HOUR: i64 = 3_600_000;
        let clock = ServerClock::default();
        assert!(clock.now().abs_diff(own()) < 1_000);
        for off in [HOUR, -HOUR] {
            let theirs = own().saturating_add_signed(off);
            clock.was(theirs);
            assert!((theirs..theirs + 1_000).contains(&clock.now()));
        }
        clock.was(u64::MAX);
        assert!(clock.now() > 0, "a senseless time breaks nothing");
    }
}
