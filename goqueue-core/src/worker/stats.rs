use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::telemetry::JobOutcome;

/// Counts of a worker's runs since its start, by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerStats {
    /// Jobs running now, or ended and not yet taken down by the backend.
    pub in_flight: u64,
    /// Runs that succeeded.
    pub succeeded: u64,
    /// Runs that failed and will be repeated.
    pub retried: u64,
    /// Runs that asked to be repeated later.
    pub snoozed: u64,
    /// Runs that asked for their job to be dropped.
    pub discarded: u64,
    /// Runs after which the job went to the dead letters.
    pub dead: u64,
    /// Jobs given back because the worker stopped.
    pub released: u64,
    /// Runs whose end was not recorded because another worker may have the job.
    pub lease_lost: u64,
}

impl WorkerStats {
    /// Runs that ended with an answer which the backend took down.
    #[must_use]
    pub fn finished(&self) -> u64 {
        self.succeeded + self.retried + self.snoozed + self.discarded + self.dead
    }
}

#[derive(Debug, Default)]
pub(super) struct StatsCell {
    succeeded: AtomicU64,
    retried: AtomicU64,
    snoozed: AtomicU64,
    discarded: AtomicU64,
    dead: AtomicU64,
    released: AtomicU64,
    lease_lost: AtomicU64,
}

impl StatsCell {
    pub(super) fn count(&self, outcome: JobOutcome) {
        let counter = match outcome {
            JobOutcome::Succeeded => &self.succeeded,
            JobOutcome::Retried(_) => &self.retried,
            JobOutcome::Snoozed(_) => &self.snoozed,
            JobOutcome::Discarded => &self.discarded,
            JobOutcome::Dead(_) => &self.dead,
            JobOutcome::Released => &self.released,
            JobOutcome::LeaseLost => &self.lease_lost,
        };
        counter.fetch_add(1, Relaxed);
    }

    pub(super) fn read(&self, in_flight: u64) -> WorkerStats {
        WorkerStats {
            in_flight,
            succeeded: self.succeeded.load(Relaxed),
            retried: self.retried.load(Relaxed),
            snoozed: self.snoozed.load(Relaxed),
            discarded: self.discarded.load(Relaxed),
            dead: self.dead.load(Relaxed),
            released: self.released.load(Relaxed),
            lease_lost: self.lease_lost.load(Relaxed),
        }
    }
}
