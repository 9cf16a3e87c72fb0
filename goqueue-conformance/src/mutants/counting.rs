use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use goqueue_core::{
    JobId, Result,
    driver::{Driver, LeaseOutcome, QueueShare, ReserveRequest, Reserved, Settlement, Verdict},
};

use super::time::rewrites_requests;
use crate::wrap::{Around, Wrapped};

rewrites_requests! {
    /// Serves the queue that is named first.
    IgnoresShares: |request| {
        let queues = request.queues.iter().map(|queue| QueueShare {
            queue: queue.queue.clone(),
            share: request.max,
        });
        let mut queues: Vec<_> = queues.collect();
        queues.sort_by(|one, other| one.queue.cmp(&other.queue));
        ReserveRequest { queues, ..request }
    }
}

/// Counts an attempt when it has failed, and not when it is handed out.
#[derive(Debug)]
pub(super) struct CountsLate {
    inner: Arc<dyn Driver>,
    failures: Mutex<HashMap<JobId, u32>>,
}

impl CountsLate {
    pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
        Arc::new(Wrapped(Self {
            inner,
            failures: Mutex::default(),
        }))
    }

    fn failures(&self) -> MutexGuard<'_, HashMap<JobId, u32>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Around for CountsLate {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.inner
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        let mut jobs = self.inner.reserve(request).await?;
        let failures = self.failures();
        for job in &mut jobs {
            job.attempt = failures.get(&job.lease.id).copied().unwrap_or(0) + 1;
        }
        drop(failures);
        Ok(jobs)
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        for settlement in &settlements {
            if matches!(settlement.verdict, Verdict::Retry { .. }) {
                *self.failures().entry(settlement.lease.id).or_default() += 1;
            }
        }
        self.inner.settle(settlements).await
    }
}

/// Claims to give the attempt of a released job back, and does not.
#[derive(Debug)]
pub(super) struct SpendsReleased {
    inner: Arc<dyn Driver>,
    spent: Mutex<HashMap<JobId, u32>>,
}

impl SpendsReleased {
    pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
        Arc::new(Wrapped(Self {
            inner,
            spent: Mutex::default(),
        }))
    }

    fn spent(&self) -> MutexGuard<'_, HashMap<JobId, u32>> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Around for SpendsReleased {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.inner
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        let mut jobs = self.inner.reserve(request).await?;
        for job in &mut jobs {
            job.attempt += self.spent().get(&job.lease.id).copied().unwrap_or(0);
        }
        Ok(jobs)
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        for settlement in &settlements {
            if matches!(settlement.verdict, Verdict::Release { .. }) {
                *self.spent().entry(settlement.lease.id).or_default() += 1;
            }
        }
        self.inner.settle(settlements).await
    }
}
