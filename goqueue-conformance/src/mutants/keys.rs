use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use goqueue_core::{
    JobId, QueueName, Result,
    driver::{Driver, NewJob, PushOutcome},
};

use crate::wrap::{Around, Wrapped};

/// Claims to keep ordering keys.
#[derive(Debug)]
pub(super) struct IgnoresOrdering(Arc<dyn Driver>);

impl IgnoresOrdering {
    pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
        Arc::new(Wrapped(Self(inner)))
    }
}

#[async_trait]
impl Around for IgnoresOrdering {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.0
    }

    async fn push(&self, mut jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        jobs.iter_mut().for_each(|job| job.ordering_key = None);
        self.0.push(jobs).await
    }
}

/// Claims to keep unique keys.
#[derive(Debug)]
pub(super) struct IgnoresUnique(Arc<dyn Driver>);

impl IgnoresUnique {
    pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
        Arc::new(Wrapped(Self(inner)))
    }
}

#[async_trait]
impl Around for IgnoresUnique {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.0
    }

    async fn push(&self, mut jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        jobs.iter_mut().for_each(|job| job.unique = None);
        self.0.push(jobs).await
    }
}

/// Answers a duplicate with the id that was not stored.
#[derive(Debug)]
pub(super) struct NamesItself(Arc<dyn Driver>);

impl NamesItself {
    pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
        Arc::new(Wrapped(Self(inner)))
    }
}

#[async_trait]
impl Around for NamesItself {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.0
    }

    async fn push(&self, jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        let ids: Vec<_> = jobs.iter().map(|job| job.id).collect();
        let outcomes = self.0.push(jobs).await?;
        let renamed = ids
            .into_iter()
            .zip(outcomes)
            .map(|(id, outcome)| match outcome {
                PushOutcome::Duplicate(_) => PushOutcome::Duplicate(id),
                other => other,
            });
        Ok(renamed.collect())
    }
}

/// Remembers a key for ever.
#[derive(Debug)]
pub(super) struct NeverFrees {
    inner: Arc<dyn Driver>,
    taken: Mutex<HashMap<(QueueName, String), JobId>>,
}

impl NeverFrees {
    pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
        Arc::new(Wrapped(Self {
            inner,
            taken: Mutex::default(),
        }))
    }

    /// Who has the job's key already; if nobody, it has it from now on.
    fn holder(&self, job: &NewJob) -> Option<JobId> {
        let unique = job.unique.as_ref()?;
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (job.queue.clone(), unique.key.clone());
        let holder = *taken.entry(key).or_insert(job.id);
        (holder != job.id).then_some(holder)
    }
}

#[async_trait]
impl Around for NeverFrees {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.inner
    }

    async fn push(&self, jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        let mut outcomes = Vec::with_capacity(jobs.len());
        for job in jobs {
            match self.holder(&job) {
                Some(holder) => outcomes.push(PushOutcome::Duplicate(holder)),
                None => outcomes.extend(self.inner.push(vec![job]).await?),
            }
        }
        Ok(outcomes)
    }
}
