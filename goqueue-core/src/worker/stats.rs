use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{
    latency::{Latency, LatencyCell},
    load::LoadCell,
};
use crate::telemetry::JobOutcome;

/// The [`saturation`](WorkerStats::saturation) from which on a worker counts as overloaded.
pub const OVERLOADED: f64 = 0.9;

/// Counts of a worker's runs since its start, by how they ended, and how it stands now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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
    /// How long the backend takes to hand out jobs; `None` until measured. Measured on reservations
    /// of two or more jobs that came back full: any other may have waited for a job.
    pub reserve_latency: Option<Latency>,
    /// How long the backend takes to write down how runs ended; `None` until measured.
    pub settle_latency: Option<Latency>,
    /// The share of the time, 0 to 1, in which the worker could not have done more: every slot was
    /// taken, or it was fetching from a backlog (a reservation of two or more jobs that came back
    /// full). Averaged over the last ten seconds or so.
    pub saturation: f64,
}

impl WorkerStats {
    /// Runs that ended with an answer which the backend took down.
    #[must_use]
    pub fn finished(&self) -> u64 {
        self.succeeded + self.retried + self.snoozed + self.discarded + self.dead
    }

    /// Runs that failed, whether or not they will be repeated.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.retried + self.dead
    }

    /// Whether there is more to do than this worker can: its [`saturation`](Self::saturation) is
    /// [`OVERLOADED`] or more. From rest that takes 23 seconds without a free slot; it needs more
    /// slots, more workers, or quicker handlers.
    #[must_use]
    pub fn is_overloaded(&self) -> bool {
        self.saturation >= OVERLOADED
    }
}

#[derive(Debug)]
pub(super) struct StatsCell {
    succeeded: AtomicU64,
    retried: AtomicU64,
    snoozed: AtomicU64,
    discarded: AtomicU64,
    dead: AtomicU64,
    released: AtomicU64,
    lease_lost: AtomicU64,
    pub(super) reserve: LatencyCell,
    pub(super) settle: LatencyCell,
    pub(super) load: LoadCell,
}

impl StatsCell {
    pub(super) fn new() -> Self {
        Self {
            succeeded: AtomicU64::default(),
            retried: AtomicU64::default(),
            snoozed: AtomicU64::default(),
            discarded: AtomicU64::default(),
            dead: AtomicU64::default(),
            released: AtomicU64::default(),
            lease_lost: AtomicU64::default(),
            reserve: LatencyCell::default(),
            settle: LatencyCell::default(),
            load: LoadCell::new(),
        }
    }

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
            reserve_latency: self.reserve.read(),
            settle_latency: self.settle.read(),
            saturation: self.load.share(),
        }
    }
}
