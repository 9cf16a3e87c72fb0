use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use goqueue_core::{
    JobId, Result,
    driver::{Driver, Lease, LeaseOutcome, ReserveRequest, Reserved, Settlement, Verdict},
};
use tokio_util::sync::CancellationToken;

use crate::wrap::{Around, Wrapped};

/// Takes any lease of a job for its newest one.
#[derive(Debug)]
pub(super) struct ForgetsTheFence {
    inner: Arc<dyn Driver>,
    newest: Mutex<HashMap<JobId, Lease>>,
}

impl ForgetsTheFence {
    pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
        Arc::new(Wrapped(Self {
            inner,
            newest: Mutex::default(),
        }))
    }

    fn newest(&self) -> MutexGuard<'_, HashMap<JobId, Lease>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forged(&self, lease: Lease) -> Lease {
        self.newest().get(&lease.id).cloned().unwrap_or(lease)
    }
}

#[async_trait]
impl Around for ForgetsTheFence {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.inner
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        let jobs = self.inner.reserve(request).await?;
        self.newest()
            .extend(jobs.iter().map(|job| (job.lease.id, job.lease.clone())));
        Ok(jobs)
    }

    async fn extend(&self, leases: Vec<Lease>, by: Duration) -> Result<Vec<LeaseOutcome>> {
        let leases = leases.into_iter().map(|lease| self.forged(lease)).collect();
        self.inner.extend(leases, by).await
    }

    async fn settle(&self, mut settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        for settlement in &mut settlements {
            settlement.lease = self.forged(settlement.lease.clone());
        }
        self.inner.settle(settlements).await
    }
}

/// Answers each lease of a call as the others of the same job.
#[derive(Debug)]
pub(super) struct AnswersByJob(Arc<dyn Driver>);

impl AnswersByJob {
    pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
        Arc::new(Wrapped(Self(inner)))
    }
}

#[async_trait]
impl Around for AnswersByJob {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.0
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        let ids: Vec<_> = settlements.iter().map(|one| one.lease.id).collect();
        let outcomes = self.0.settle(settlements).await?;
        let is_done = |id: &JobId| {
            let answers = ids.iter().zip(&outcomes);
            answers
                .into_iter()
                .any(|(known, outcome)| known == id && *outcome == LeaseOutcome::Done)
        };
        let answer = |id| {
            if is_done(id) {
                LeaseOutcome::Done
            } else {
                LeaseOutcome::Lost
            }
        };
        Ok(ids.iter().map(answer).collect())
    }
}

/// Hands out every reservation a second time.
#[derive(Debug)]
pub(super) struct ReservesTwice {
    inner: Arc<dyn Driver>,
    again: Mutex<Vec<Reserved>>,
}

impl ReservesTwice {
    pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
        Arc::new(Wrapped(Self {
            inner,
            again: Mutex::default(),
        }))
    }

    fn again(&self) -> MutexGuard<'_, Vec<Reserved>> {
        self.again.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Around for ReservesTwice {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.inner
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        let doubles = {
            let mut again = self.again();
            let count = again.len().min(request.max);
            again.drain(..count).collect::<Vec<_>>()
        };
        if !doubles.is_empty() {
            return Ok(doubles);
        }
        let jobs = self.inner.reserve(request).await?;
        self.again().extend(jobs.iter().cloned());
        Ok(jobs)
    }
}

/// Takes a job for a reservation that has ended.
#[derive(Debug)]
pub(super) struct KeepsOneBack(Arc<dyn Driver>);

impl KeepsOneBack {
    pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
        Arc::new(Wrapped(Self(inner)))
    }
}

#[async_trait]
impl Around for KeepsOneBack {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.0
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        let cancel = request.cancel.clone();
        let late = ReserveRequest {
            wait: Duration::ZERO,
            cancel: CancellationToken::new(),
            ..request.clone()
        };
        let jobs = self.0.reserve(request).await?;
        if jobs.is_empty() && cancel.is_cancelled() {
            tokio::task::yield_now().await;
            self.0.reserve(late).await?;
        }
        Ok(jobs)
    }
}

/// Says that it has extended leases.
#[derive(Debug)]
pub(super) struct ExtendsNothing(Arc<dyn Driver>);

impl ExtendsNothing {
    pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
        Arc::new(Wrapped(Self(inner)))
    }
}

#[async_trait]
impl Around for ExtendsNothing {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.0
    }

    async fn extend(&self, leases: Vec<Lease>, _: Duration) -> Result<Vec<LeaseOutcome>> {
        Ok(vec![LeaseOutcome::Done; leases.len()])
    }
}

/// Acks what it hands out, and what becomes of it is nobody's business.
#[derive(Debug)]
pub(super) struct AcksBeforeTheRun(Arc<dyn Driver>);

impl AcksBeforeTheRun {
    pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
        Arc::new(Wrapped(Self(inner)))
    }
}

#[async_trait]
impl Around for AcksBeforeTheRun {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.0
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        let jobs = self.0.reserve(request).await?;
        let ack = |job: &Reserved| Settlement {
            lease: job.lease.clone(),
            verdict: Verdict::Ack,
        };
        self.0.settle(jobs.iter().map(ack).collect()).await?;
        Ok(jobs)
    }

    async fn extend(&self, leases: Vec<Lease>, _: Duration) -> Result<Vec<LeaseOutcome>> {
        Ok(vec![LeaseOutcome::Done; leases.len()])
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        Ok(vec![LeaseOutcome::Done; settlements.len()])
    }
}
