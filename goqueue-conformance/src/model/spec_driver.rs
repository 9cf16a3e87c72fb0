use std::{
    fmt,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use goqueue_core::{
    Error, JobId, QueueName, Result,
    driver::{
        BatchLimits, Capabilities, Clock, DeadLetterInfo, DelayLimits, Driver, Inspect,
        InspectCapability, JobInfo, JobState, Lease, LeaseOutcome, Maintenance, NewJob, Page,
        PageRequest, PushOutcome, QueueStats, ReserveRequest, Reserved, Selection, Settlement,
        UniqueCapability,
    },
};
use tokio::{sync::Notify, time::Instant};

use super::{Model, Standing};

const CAPABILITIES: Capabilities = Capabilities {
    driver: "spec",
    durable: false,
    clock: Clock::Process,
    delay: DelayLimits {
        max: None,
        granularity: Duration::from_millis(1),
    },
    batch: BatchLimits {
        jobs: 100,
        bytes: 1 << 20,
        full_call: 1,
    },
    max_payload: 256 << 10,
    ordering: true,
    unique: UniqueCapability::Exact,
    transactional_enqueue: false,
    release_without_attempt: true,
    stale_settle: true,
    inspect: InspectCapability::Full,
};

/// The reference model as a driver: slow, obvious, and the first to pass the suite.
pub struct SpecDriver {
    model: Mutex<Model>,
    started: Instant,
    epoch: Duration,
    changed: Notify,
    is_closed: AtomicBool,
}

impl SpecDriver {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self {
            model: Mutex::new(Model::new(true)),
            started: Instant::now(),
            epoch: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default(),
            changed: Notify::new(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// The model as of now.
    fn model(&self) -> Result<MutexGuard<'_, Model>> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(Error::Closed {
                driver: CAPABILITIES.driver,
            });
        }
        let mut model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        model.advance_to(self.started.elapsed());
        Ok(model)
    }

    fn reserve_now(&self, request: &ReserveRequest) -> Result<Vec<Reserved>> {
        let mut model = self.model()?;
        let mut taken = Vec::new();
        let shares = request
            .queues
            .iter()
            .map(|queue| (&queue.queue, queue.share));
        let rest = request
            .queues
            .iter()
            .map(|queue| (&queue.queue, usize::MAX));
        for (queue, share) in shares.chain(rest) {
            let room = share.min(request.max - taken.len());
            for id in model.eligible(queue).into_iter().take(room) {
                let Some(delivery) = model.reserve(id, request.lease) else {
                    continue;
                };
                let lease = Lease {
                    queue: queue.clone(),
                    id,
                    token: delivery.token.into(),
                };
                taken.push(Reserved {
                    body: delivery.body,
                    attempt: delivery.attempt,
                    lease,
                });
            }
        }
        Ok(taken)
    }
}

impl Default for SpecDriver {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for SpecDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpecDriver").finish_non_exhaustive()
    }
}

fn is_held(model: &Model, lease: &Lease) -> bool {
    let token = lease.token.as_number();
    token.is_some_and(|token| model.standing(lease.id, token) == Standing::Held)
}

#[async_trait]
impl Driver for SpecDriver {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    async fn ping(&self) -> Result<()> {
        self.model().map(drop)
    }

    async fn push(&self, jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        let outcomes = {
            let mut model = self.model()?;
            jobs.iter().map(|job| model.push(job)).collect()
        };
        self.changed.notify_waiters();
        Ok(outcomes)
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        let deadline = Instant::now() + request.wait;
        loop {
            let changed = self.changed.notified();
            let taken = self.reserve_now(&request)?;
            if !taken.is_empty() || request.cancel.is_cancelled() || Instant::now() >= deadline {
                return Ok(taken);
            }
            let next = self
                .model()?
                .next_change()
                .and_then(|at| self.started.checked_add(at));
            let until = next.map_or(deadline, |next| next.min(deadline));
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep_until(until) => {}
                () = request.cancel.cancelled() => {}
            }
        }
    }

    async fn extend(&self, leases: Vec<Lease>, by: Duration) -> Result<Vec<LeaseOutcome>> {
        let mut model = self.model()?;
        let extend = |lease: Lease| {
            if !is_held(&model, &lease) {
                return LeaseOutcome::Lost;
            }
            model.extend(lease.id, by);
            LeaseOutcome::Done
        };
        Ok(leases.into_iter().map(extend).collect())
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        let outcomes = {
            let mut model = self.model()?;
            let settle = |settlement: Settlement| {
                if !is_held(&model, &settlement.lease) {
                    return LeaseOutcome::Lost;
                }
                model.settle(settlement.lease.id, &settlement.verdict);
                LeaseOutcome::Done
            };
            settlements.into_iter().map(settle).collect()
        };
        self.changed.notify_waiters();
        Ok(outcomes)
    }

    async fn maintain(&self, _: &[QueueName]) -> Result<Maintenance> {
        self.model().map(drop)?;
        // Everything is judged at the moment it is asked for.
        Ok(Maintenance {
            next: Duration::from_secs(3600),
            ..Maintenance::default()
        })
    }

    fn inspect(&self) -> Option<&dyn Inspect> {
        Some(self)
    }

    async fn close(&self) -> Result<()> {
        self.is_closed.store(true, Ordering::Release);
        self.changed.notify_waiters();
        Ok(())
    }
}

#[async_trait]
impl Inspect for SpecDriver {
    async fn queues(&self) -> Result<Vec<QueueName>> {
        Ok(self.model()?.queues())
    }

    async fn stats(&self, queue: &QueueName) -> Result<QueueStats> {
        Ok(self.model()?.stats(queue))
    }

    async fn peek(
        &self,
        queue: &QueueName,
        state: JobState,
        page: PageRequest,
    ) -> Result<Page<JobInfo>> {
        Ok(paged(self.model()?.jobs(queue, state), &page))
    }

    async fn dead_letters(
        &self,
        queue: &QueueName,
        page: PageRequest,
    ) -> Result<Page<DeadLetterInfo>> {
        Ok(paged(self.model()?.dead_letters(queue, self.epoch), &page))
    }

    async fn dead_letter(&self, queue: &QueueName, id: JobId) -> Result<Option<DeadLetterInfo>> {
        let letters = self.model()?.dead_letters(queue, self.epoch);
        Ok(letters.into_iter().find(|letter| letter.id == id))
    }

    async fn requeue_dead(&self, queue: &QueueName, which: Selection) -> Result<u64> {
        let moved = self.model()?.requeue_dead(queue, &which);
        self.changed.notify_waiters();
        Ok(moved)
    }

    async fn delete_dead(&self, queue: &QueueName, which: Selection) -> Result<u64> {
        Ok(self.model()?.delete_dead(queue, &which))
    }

    async fn purge(&self, queue: &QueueName) -> Result<u64> {
        let removed = self.model()?.purge(queue);
        self.changed.notify_waiters();
        Ok(removed)
    }
}

fn paged<T>(items: Vec<T>, page: &PageRequest) -> Page<T> {
    let start = page
        .after
        .as_deref()
        .and_then(|after| after.parse().ok())
        .unwrap_or(0_usize);
    let end = start.saturating_add(page.limit).min(items.len());
    let next = (end < items.len()).then(|| end.to_string());
    let items = items
        .into_iter()
        .skip(start)
        .take(end.saturating_sub(start))
        .collect();
    Page { items, next }
}
