use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use super::MAX_SNOOZE;

/// The recent starts of one key's jobs, and when those that were sent away come back.
#[derive(Debug, Default)]
pub(super) struct Window {
    starts: VecDeque<Instant>,
    last_return: Option<Instant>,
}

impl Window {
    /// Takes down a start if there is room for it: no `per` long stretch has more than `most`.
    /// Otherwise answers how long to stay away. Those that are sent away come back one after the
    /// other, at the pace at which they may start; when there are too many for that, they share the
    /// turns there are, so that no turn is left empty.
    pub(super) fn take(
        &mut self,
        now: Instant,
        most: usize,
        per: Duration,
    ) -> Result<(), Duration> {
        while self.starts.front().is_some_and(|start| *start + per <= now) {
            self.starts.pop_front();
        }
        let Some(first) = self.starts.front().filter(|_| self.starts.len() >= most) else {
            self.starts.push_back(now);
            return Ok(());
        };
        let room = *first + per;
        let pace = per / u32::try_from(most).unwrap_or(u32::MAX);
        let back = match self.last_return {
            Some(last) if last >= room && last + pace <= now + MAX_SNOOZE => last + pace,
            _ => room.min(now + MAX_SNOOZE),
        };
        self.last_return = Some(back);
        Err(whole_millis(back - now))
    }

    /// Whether nothing of it matters any more.
    pub(super) fn is_over(&self, now: Instant, per: Duration) -> bool {
        let is_past = |time: Option<Instant>| time.is_none_or(|time| time <= now);
        is_past(self.starts.back().map(|start| *start + per)) && is_past(self.last_return)
    }
}

/// Rounded up, so that a backend that keeps milliseconds brings nobody back too early.
fn whole_millis(wait: Duration) -> Duration {
    let millis = wait.as_nanos().div_ceil(1_000_000);
    Duration::from_millis(millis.try_into().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn no_stretch_of_the_period_has_more_than_allowed() {
        let mut window = Window::default();
        let start = Instant::now();
        let mut started = Vec::new();
        for tenths in 0..100u32 {
            let now = start + SECOND * tenths / 10;
            if window.take(now, 3, SECOND).is_ok() {
                started.push(tenths);
            }
        }
        assert_eq!(started.len(), 30);
        assert!(started.windows(4).all(|four| four[3] - four[0] >= 10));
    }

    #[test]
    fn those_sent_away_come_back_one_after_the_other() {
        let mut window = Window::default();
        let now = Instant::now();
        let waits: Vec<_> = (0..7).map(|_| window.take(now, 2, SECOND)).collect();
        let later = |millis| Err(Duration::from_millis(millis));
        assert_eq!(
            waits,
            [
                Ok(()),
                Ok(()),
                later(1000),
                later(1500),
                later(2000),
                later(2500),
                later(3000)
            ]
        );
    }

    #[test]
    fn when_there_are_too_many_every_turn_is_still_used() {
        let mut window = Window::default();
        let now = Instant::now();
        assert_eq!(window.take(now, 1, SECOND), Ok(()));
        let waits = (0..1500).map(|_| window.take(now, 1, SECOND).unwrap_err());
        let seconds: Vec<_> = waits.map(|wait| wait.as_secs()).collect();
        assert_eq!(seconds[..600], (1..=600).collect::<Vec<_>>());
        assert_eq!(seconds[600..1200], seconds[..600]);
    }

    #[test]
    fn a_wait_is_rounded_up() {
        let mut window = Window::default();
        let now = Instant::now();
        let micros = Duration::from_micros;
        assert_eq!(window.take(now, 1, micros(1500)), Ok(()));
        let wait = window.take(now, 1, micros(1500));
        assert_eq!(wait, Err(Duration::from_millis(2)));
    }
}
