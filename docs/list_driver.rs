use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use goqueue::{
    Config, Error, JobId, QueueName, Result,
    dead_letter::DeadReason,
    driver::{
        BatchLimits, Capabilities, Clock, ConnectFuture, DelayLimits, Driver, DriverEntry, Inspect,
        InspectCapability, Lease, LeaseOutcome, Maintenance, NewJob, PushOutcome, ReserveRequest,
        Reserved, Settlement, UniqueCapability, Verdict,
    },
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

const CAPABILITIES: Capabilities = Capabilities {
    driver: "list",
    durable: false,
    clock: Clock::Process,
    delay: DelayLimits {
        max: Some(YEAR),
        granularity: Duration::from_millis(1),
    },
    batch: BatchLimits {
        jobs: 1000,
        bytes: usize::MAX,
        full_call: 1,
    },
    max_payload: 1024 * 1024,
    ordering: false,
    unique: UniqueCapability::None,
    transactional_enqueue: false,
    release_without_attempt: true,
    stale_settle: true,
    inspect: InspectCapability::None,
};

#[derive(Debug, Default)]
pub(crate) struct ListDriver {
    rows: Mutex<Vec<Row>>,
    dead: Mutex<Vec<(JobId, DeadReason, String, Bytes)>>,
    changed: Notify,
    closed: AtomicBool,
    /// How many deliveries there were.
    deliveries: AtomicU64,
}

#[derive(Debug)]
struct Row {
    id: JobId,
    queue: QueueName,
    body: Bytes,
    /// The number of its last delivery, which no other has.
    token: u64,
    attempt: u32,
    leased: bool,
    visible_at: Instant,
}

impl ListDriver {
    fn rows(&self) -> Result<MutexGuard<'_, Vec<Row>>> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::Closed {
                driver: CAPABILITIES.driver,
            });
        }
        Ok(self.rows.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is visible now, and when the next row will be.
    fn take(&self, request: &ReserveRequest) -> Result<(Vec<Reserved>, Option<Instant>)> {
        let (now, mut rows, mut taken) = (Instant::now(), self.rows()?, Vec::new());
        let fair = request.queues.iter().map(|queue| (queue, queue.share));
        let rest = request.queues.iter().map(|queue| (queue, request.max));
        for (queue, share) in fair.chain(rest) {
            let room = share.min(request.max - taken.len());
            let visible = rows
                .iter_mut()
                .filter(|row| row.queue == queue.queue && row.visible_at <= now);
            for row in visible.take(room) {
                row.token = self.deliveries.fetch_add(1, Ordering::Relaxed);
                row.attempt += 1;
                row.leased = true;
                row.visible_at = from_now(request.lease);
                let token = row.token.into();
                let lease = Lease {
                    queue: row.queue.clone(),
                    id: row.id,
                    token,
                };
                taken.push(Reserved {
                    body: row.body.clone(),
                    attempt: row.attempt,
                    lease,
                });
            }
        }
        let ours = rows
            .iter()
            .filter(|row| request.queues.iter().any(|queue| queue.queue == row.queue));
        Ok((taken, ours.map(|row| row.visible_at).min()))
    }

    fn settle_one(&self, rows: &mut Vec<Row>, lease: &Lease, verdict: Verdict) -> LeaseOutcome {
        let Some(at) = held(rows, lease) else {
            return LeaseOutcome::Lost;
        };
        let row = &mut rows[at];
        row.leased = false;
        match verdict {
            Verdict::Ack => drop(rows.remove(at)),
            Verdict::Retry { delay, .. } => row.visible_at = from_now(delay),
            Verdict::Release { delay } => {
                row.attempt -= 1;
                row.visible_at = from_now(delay);
            }
            Verdict::Dead { reason, error } => {
                let row = rows.remove(at);
                let mut dead = self.dead.lock().unwrap_or_else(PoisonError::into_inner);
                dead.push((row.id, reason, error, row.body));
            }
        }
        LeaseOutcome::Done
    }
}

/// So long from now; a time that no clock can count is a year.
fn from_now(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or(now + YEAR)
}

/// The row whose present lease this is, while it holds.
fn held(rows: &[Row], lease: &Lease) -> Option<usize> {
    let now = Instant::now();
    rows.iter().position(|row| {
        row.id == lease.id
            && row.leased
            && row.visible_at > now
            && Some(row.token) == lease.token.as_number()
    })
}

#[async_trait]
impl Driver for ListDriver {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    async fn ping(&self) -> Result<()> {
        self.rows().map(drop)
    }

    async fn push(&self, jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        let mut rows = self.rows()?;
        let outcomes = jobs.into_iter().map(|job| {
            let NewJob {
                id,
                queue,
                body,
                delay,
                ..
            } = job;
            rows.push(Row {
                id,
                queue,
                body,
                token: 0,
                attempt: 0,
                leased: false,
                visible_at: from_now(delay),
            });
            PushOutcome::Stored
        });
        let outcomes = outcomes.collect();
        self.changed.notify_waiters();
        Ok(outcomes)
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        let deadline = from_now(request.wait);
        loop {
            // Listening before looking, so that no push falls between the two.
            let changed = self.changed.notified();
            let (taken, next) = self.take(&request)?;
            if !taken.is_empty() || Instant::now() >= deadline {
                return Ok(taken);
            }
            tokio::select! {
                () = changed => {}
                () = sleep_until(next.map_or(deadline, |next| next.min(deadline))) => {}
                () = request.cancel.cancelled() => return Ok(Vec::new()),
            }
        }
    }

    async fn extend(&self, leases: Vec<Lease>, by: Duration) -> Result<Vec<LeaseOutcome>> {
        let mut rows = self.rows()?;
        let extend = |lease| match held(&rows, &lease) {
            Some(at) => {
                rows[at].visible_at = from_now(by);
                LeaseOutcome::Done
            }
            None => LeaseOutcome::Lost,
        };
        Ok(leases.into_iter().map(extend).collect())
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        let mut rows = self.rows()?;
        let outcomes = settlements
            .into_iter()
            .map(|Settlement { lease, verdict }| self.settle_one(&mut rows, &lease, verdict))
            .collect();
        self.changed.notify_waiters();
        Ok(outcomes)
    }

    /// Nothing to do: a row becomes visible by itself, whether it was delayed or its lease ended.
    async fn maintain(&self, _queues: &[QueueName]) -> Result<Maintenance> {
        self.ping().await?;
        Ok(Maintenance {
            next: Duration::from_secs(60),
            ..Maintenance::default()
        })
    }

    fn inspect(&self) -> Option<&dyn Inspect> {
        None
    }

    async fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        self.changed.notify_waiters();
        Ok(())
    }
}

/// Lets `Queue::connect` find the driver by its scheme, `list://`.
fn connect(_config: Config) -> ConnectFuture {
    Box::pin(async { Ok(Arc::new(ListDriver::default()) as Arc<dyn Driver>) })
}

inventory::submit! { DriverEntry::new(&["list"], connect) }
