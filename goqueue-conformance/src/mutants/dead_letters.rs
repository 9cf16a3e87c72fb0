use std::{
    collections::HashMap,
    fmt,
    marker::PhantomData,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use goqueue_core::{
    JobId, QueueName, Result,
    driver::{
        DeadLetterInfo, Driver, Inspect, JobInfo, JobState, NewJob, Page, PageRequest, QueueStats,
        ReserveRequest, Reserved, Selection,
    },
};

use crate::wrap::{Around, Wrapped};

/// The administrative calls of a driver that is known to have them.
fn admin(driver: &Arc<dyn Driver>) -> &dyn Inspect {
    driver
        .inspect()
        .expect("a mutant of administrative calls needs a driver that has them")
}

/// What is done to dead letters.
pub(super) trait Tampering: fmt::Debug + Send + Sync + 'static {
    /// What a dead letter is shown as.
    fn shown(letter: DeadLetterInfo) -> DeadLetterInfo {
        letter
    }

    /// Whether a redrive leaves the letter behind.
    const LEAVES_BEHIND: bool = false;
    /// The most letters that are ever shown.
    const MOST: usize = usize::MAX;
}

/// Keeps only the beginning of a dead job's body.
#[derive(Debug)]
pub(super) struct Alters;

impl Tampering for Alters {
    fn shown(mut letter: DeadLetterInfo) -> DeadLetterInfo {
        letter.body.truncate(16);
        letter
    }
}

/// Leaves a letter behind when it makes it a job again.
#[derive(Debug)]
pub(super) struct LeavesBehind;

impl Tampering for LeavesBehind {
    const LEAVES_BEHIND: bool = true;
}

/// Shows what one call of the backend brings, and no more.
#[derive(Debug)]
pub(super) struct ShowsTen;

impl Tampering for ShowsTen {
    const MOST: usize = 10;
}

pub(super) type AltersTheLetter = Tampered<Alters>;
pub(super) type RedrivesTwice = Tampered<LeavesBehind>;
pub(super) type ShowsTenLetters = Tampered<ShowsTen>;

/// A driver whose dead letters are tampered with.
#[derive(Debug)]
pub(super) struct Tampered<T> {
    inner: Arc<dyn Driver>,
    how: PhantomData<T>,
}

impl<T: Tampering> Tampered<T> {
    pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
        Arc::new(Wrapped(Self {
            inner,
            how: PhantomData,
        }))
    }
}

impl<T: Tampering> Around for Tampered<T> {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.inner
    }

    fn inspect(&self) -> Option<&dyn Inspect> {
        Some(self)
    }
}

#[async_trait]
impl<T: Tampering> Inspect for Tampered<T> {
    async fn queues(&self) -> Result<Vec<QueueName>> {
        admin(&self.inner).queues().await
    }

    async fn stats(&self, queue: &QueueName) -> Result<QueueStats> {
        admin(&self.inner).stats(queue).await
    }

    async fn peek(
        &self,
        queue: &QueueName,
        state: JobState,
        page: PageRequest,
    ) -> Result<Page<JobInfo>> {
        admin(&self.inner).peek(queue, state, page).await
    }

    async fn dead_letters(
        &self,
        queue: &QueueName,
        page: PageRequest,
    ) -> Result<Page<DeadLetterInfo>> {
        let page = admin(&self.inner).dead_letters(queue, page).await?;
        Ok(Page {
            items: page.items.into_iter().map(T::shown).take(T::MOST).collect(),
            next: page.next,
        })
    }

    async fn dead_letter(&self, queue: &QueueName, id: JobId) -> Result<Option<DeadLetterInfo>> {
        Ok(admin(&self.inner)
            .dead_letter(queue, id)
            .await?
            .map(T::shown))
    }

    async fn requeue_dead(&self, queue: &QueueName, which: Selection) -> Result<u64> {
        if !T::LEAVES_BEHIND {
            return admin(&self.inner).requeue_dead(queue, which).await;
        }
        let mut letters = self
            .dead_letters(queue, PageRequest::first(100))
            .await?
            .items;
        if let Selection::Ids(ids) = which {
            letters.retain(|letter| ids.contains(&letter.id));
        }
        let copies = letters.into_iter().map(|letter| NewJob {
            id: JobId::new(),
            queue: letter.queue,
            body: letter.body,
            delay: Duration::ZERO,
            ordering_key: None,
            unique: None,
        });
        Ok(self.inner.push(copies.collect()).await?.len() as u64)
    }

    async fn delete_dead(&self, queue: &QueueName, which: Selection) -> Result<u64> {
        admin(&self.inner).delete_dead(queue, which).await
    }

    async fn purge(&self, queue: &QueueName) -> Result<u64> {
        admin(&self.inner).purge(queue).await
    }
}

/// Lets a redriven job go on where it died.
#[derive(Debug)]
pub(super) struct KeepsAttempts {
    inner: Arc<dyn Driver>,
    seen: Mutex<HashMap<JobId, u32>>,
}

impl KeepsAttempts {
    pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
        Arc::new(Wrapped(Self {
            inner,
            seen: Mutex::default(),
        }))
    }

    fn seen(&self) -> MutexGuard<'_, HashMap<JobId, u32>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Around for KeepsAttempts {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.inner
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        let mut jobs = self.inner.reserve(request).await?;
        let mut seen = self.seen();
        for job in &mut jobs {
            let count = seen.entry(job.lease.id).or_default();
            *count += 1;
            job.attempt = *count;
        }
        drop(seen);
        Ok(jobs)
    }
}
