use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// How long the backend took to answer one kind of call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Latency {
    /// The last answer.
    pub last: Duration,
    /// The moving average, of which each new answer makes up an eighth.
    pub average: Duration,
}

/// In nanoseconds; zero before the first answer.
#[derive(Debug, Default)]
pub(super) struct LatencyCell {
    last: AtomicU64,
    average: AtomicU64,
}

impl LatencyCell {
    /// Called by one task only, so that no update is lost between its reads and writes.
    pub(super) fn note(&self, took: Duration) {
        // At least one, since zero says that nothing was measured.
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).max(1);
        let average = match self.average.load(Relaxed) {
            0 => took,
            before => before - before / 8 + took / 8,
        };
        self.last.store(took, Relaxed);
        self.average.store(average.max(1), Relaxed);
    }

    /// `None` when nothing was measured yet.
    pub(super) fn read(&self) -> Option<Latency> {
        let last = self.last.load(Relaxed);
        (last > 0).then(|| Latency {
            last: Duration::from_nanos(last),
            average: Duration::from_nanos(self.average.load(Relaxed)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_follows_and_the_last_is_the_last() {
        let cell = LatencyCell::default();
        assert_eq!(cell.read(), None);
        let millis = Duration::from_millis;
        cell.note(millis(80));
        assert_eq!(cell.read().unwrap().average, millis(80));
        cell.note(millis(160));
        let read = cell.read().unwrap();
        assert_eq!((read.last, read.average), (millis(160), millis(90)));
        for _ in 0..100 {
            cell.note(millis(8));
        }
        assert!(cell.read().unwrap().average < millis(9));
        cell.note(Duration::ZERO);
        assert_eq!(cell.read().unwrap().last, Duration::from_nanos(1));
    }
}
