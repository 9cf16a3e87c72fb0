use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    context::{ExtendError, LeaseLost},
    driver::{Driver, Lease, LeaseOutcome},
};

/// A job that this worker holds: its lease, until when it is good, and how to stop it.
#[derive(Debug)]
pub(crate) struct RunningJob {
    lease: Lease,
    attempt: u32,
    /// By this process's clock, counted from when the driver's answer came in.
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
    pub(crate) fn new(lease: Lease, attempt: u32, good_until: Instant) -> Self {
        Self {
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
        *self.good_until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn extended_to(&self, until: Instant) {
        *self.good_until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    /// Tells the handler to stop. The first reason stays, except that a lost lease outranks a
    /// shutdown: what is not held cannot be released.
    pub(crate) fn stop(&self, reason: StopReason) {
        let _ = self.stopped.fetch_update(Ordering::AcqRel, Ordering::Acquire, |known| {
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

    pub(crate) async fn extend(&self, driver: &dyn Driver, by: Duration) -> Result<(), ExtendError> {
        let outcomes = driver.extend(vec![self.lease.clone()], by).await?;
        match outcomes.first() {
            Some(LeaseOutcome::Done) => {
                self.extended_to(Instant::now() + by);
                Ok(())
            }
            _ => {
                self.stop(StopReason::LeaseLost);
                Err(LeaseLost.into())
            }
        }
    }
}
