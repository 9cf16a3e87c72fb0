use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    context::{ExtendError, LeaseLost},
    driver::{Driver, Lease, LeaseOutcome, Reserved},
};

/// A job that this worker holds: its lease, until when it is good, and how to stop it.
#[derive(Debug)]
pub(crate) struct RunningJob {
    /// Its place in the [`RunningSet`].
    key: u64,
    lease: Lease,
    attempt: u32,
    /// By this process's clock, counted from when the driver was asked: however long its answer took,
    /// the backend's lease lasts no shorter.
    good_until: Mutex<Instant>,
    token: CancellationToken,
    stopped: AtomicU8,
}

/// Why a running job was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    LeaseLost = 1,
    Shutdown = 2,
}

impl RunningJob {
    fn new(key: u64, lease: Lease, attempt: u32, good_until: Instant) -> Self {
        Self {
            key,
            lease,
            attempt,
            good_until: Mutex::new(good_until),
            token: CancellationToken::new(),
            stopped: AtomicU8::new(0),
        }
    }

    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }

    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }

    pub(crate) fn good_until(&self) -> Instant {
        *self
            .good_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn extended_to(&self, until: Instant) {
        *self
            .good_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = until;
    }

    /// Tells the handler to stop. The first reason stays, except that a lost lease outranks a
    /// shutdown: what is not held cannot be released.
    pub(crate) fn stop(&self, reason: StopReason) {
        let _ = self
            .stopped
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |known| {
                (known == 0 || reason == StopReason::LeaseLost).then_some(reason as u8)
            });
        self.token.cancel();
    }

    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        match self.stopped.load(Ordering::Acquire) {
            1 => Some(StopReason::LeaseLost),
            2 => Some(StopReason::Shutdown),
            _ => None,
        }
    }

    pub(crate) async fn extend(
        &self,
        driver: &dyn Driver,
        by: Duration,
    ) -> Result<(), ExtendError> {
        let until = after(Instant::now(), by);
        let outcomes = driver.extend(vec![self.lease.clone()], by).await?;
        match outcomes.first() {
            Some(LeaseOutcome::Done) => {
                self.extended_to(until);
                Ok(())
            }
            _ => {
                self.stop(StopReason::LeaseLost);
                Err(LeaseLost.into())
            }
        }
    }
}

/// This long from now.
pub(super) fn from_now(duration: Duration) -> Instant {
    after(Instant::now(), duration)
}

/// So long after a time; a duration that no clock can count ends in a year.
fn after(time: Instant, duration: Duration) -> Instant {
    const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    time.checked_add(duration).unwrap_or(time + A_YEAR)
}

/// Everything a worker holds, from the reservation until its end is written down.
#[derive(Debug)]
pub(super) struct RunningSet {
    lease: Duration,
    next_key: AtomicU64,
    jobs: Mutex<HashMap<u64, Arc<RunningJob>>>,
    removed: Notify,
}

impl RunningSet {
    pub(super) fn new(lease: Duration) -> Self {
        Self {
            lease,
            next_key: AtomicU64::new(0),
            jobs: Mutex::default(),
            removed: Notify::new(),
        }
    }

    /// Takes note of a job that was reserved since the driver was asked for it.
    pub(super) fn add(&self, reserved: &Reserved, asked: Instant) -> Arc<RunningJob> {
        let key = self.next_key.fetch_add(1, Ordering::Relaxed);
        let good_until = after(asked, self.lease);
        let (lease, attempt) = (reserved.lease.clone(), reserved.attempt);
        let job = Arc::new(RunningJob::new(key, lease, attempt, good_until));
        self.lock().insert(key, Arc::clone(&job));
        job
    }

    pub(super) fn remove(&self, job: &RunningJob) {
        self.lock().remove(&job.key);
        self.removed.notify_one();
    }

    /// Waits until a job was removed since the last call.
    pub(super) async fn changed(&self) {
        self.removed.notified().await;
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    pub(super) fn matching(&self, wanted: impl Fn(&RunningJob) -> bool) -> Vec<Arc<RunningJob>> {
        self.lock()
            .values()
            .filter(|job| wanted(job))
            .cloned()
            .collect()
    }

    /// When the first lease ends of those that still hold.
    pub(super) fn first_end(&self) -> Option<Instant> {
        let jobs = self.lock();
        let holding = jobs
            .values()
            .filter(|job| job.stop_reason() != Some(StopReason::LeaseLost));
        holding.map(|job| job.good_until()).min()
    }

    pub(super) fn stop_all(&self, reason: StopReason) {
        for job in self.matching(|_| true) {
            job.stop(reason);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<RunningJob>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
