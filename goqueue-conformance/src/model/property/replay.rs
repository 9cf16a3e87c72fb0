use std::{collections::HashSet, time::Duration};

use goqueue_core::{
    JobId,
    driver::{
        Lease, LeaseOutcome, NewJob, PushOutcome, QueueShare, ReserveRequest, Reserved, UniqueKey,
    },
};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    history::QUEUES,
    ops::{Ending, Op},
};
use crate::{
    model::{Model, Standing},
    tools::{Bench, Client, listed},
};

/// Why a history ends before its end.
#[derive(Debug)]
pub(super) enum Broken {
    /// What was expected and what happened.
    Promise(String),
    /// So much time went by between two steps that nobody can tell what should have happened.
    TooSlow,
}

/// Ends the history unless the condition holds.
macro_rules! same {
    ($kept:expr, $($what:tt)+) => {
        if !$kept {
            return Err(Broken::Promise(format!($($what)+)));
        }
    };
}
pub(super) use same;

/// One history on its way through a driver and the model.
///
/// Everything happens at the beginning of a step of time, and everything becomes due in the middle
/// of one: half a step of slack on either side, so that a real clock does not blur what is due.
pub(super) struct Replay<'b> {
    bench: &'b Bench<'b>,
    clients: [Client; 2],
    pub(super) model: Model,
    step: Duration,
    began: Instant,
    steps: u32,
    pub(super) jobs: Vec<JobId>,
    leases: Vec<(Lease, u64)>,
}

impl<'b> Replay<'b> {
    pub(super) fn new(bench: &'b Bench<'b>, another: Client) -> Self {
        let granularity = bench.can().delay.granularity;
        Self {
            bench,
            clients: [bench.client(), another],
            model: Model::new(bench.can().release_without_attempt),
            step: bench.timing.tolerance.max(granularity) * 2,
            began: Instant::now(),
            steps: 0,
            jobs: Vec::new(),
            leases: Vec::new(),
        }
    }

    pub(super) async fn run(mut self, history: &[Op]) -> Result<(), Broken> {
        for op in history {
            let played = self.play(op).await;
            self.in_time(played)?;
        }
        let compared = self.compare().await;
        self.in_time(compared)
    }

    /// What came of a part of the history, unless it took so long that what was due in the
    /// meantime may have changed it.
    fn in_time(&self, outcome: Result<(), Broken>) -> Result<(), Broken> {
        if self.lag() > self.step * 2 / 5 {
            return Err(Broken::TooSlow);
        }
        outcome
    }

    /// How far the real time is into the step.
    fn lag(&self) -> Duration {
        self.began.elapsed().saturating_sub(self.step * self.steps)
    }

    /// A time that ends in the middle of a step.
    fn time(&self, steps: u32) -> Duration {
        (self.step * steps).saturating_sub(self.step / 2 * steps.min(1))
    }

    async fn play(&mut self, op: &Op) -> Result<(), Broken> {
        match op {
            Op::Push {
                queue,
                delay,
                ordering,
                unique,
            } => self.push(*queue, *delay, *ordering, *unique).await,
            Op::Reserve {
                by,
                shares,
                max,
                lease,
            } => self.reserve(*by, shares, *max, *lease).await,
            Op::Extend { lease, by } => self.extend(*lease, *by).await,
            Op::Settle { lease, end } => self.settle(*lease, *end).await,
            Op::Elapse { steps } => self.elapse(*steps).await,
            Op::Requeue { queue, job } => self.requeue(*queue, *job).await,
            Op::Delete { queue, job } => self.delete(*queue, *job).await,
            Op::Purge { queue } => self.purge(*queue).await,
        }
    }

    async fn push(
        &mut self,
        queue: usize,
        delay: u32,
        ordering: Option<u8>,
        unique: Option<(u8, u32)>,
    ) -> Result<(), Broken> {
        let client = self.at(queue);
        let job = NewJob {
            delay: self.time(delay),
            ordering_key: ordering.map(|key| format!("key {key}")),
            unique: unique.map(|(key, hold)| UniqueKey {
                key: format!("unique {key}"),
                hold: self.time(hold),
            }),
            ..client.job(format!("job {}", self.jobs.len()))
        };
        let expected = self.model.push(&job);
        self.jobs.push(job.id);
        let outcome = client.push(job.clone()).await;
        let is_same = match (&expected, &outcome) {
            (PushOutcome::Stored, PushOutcome::Stored) => true,
            (PushOutcome::Duplicate(of), PushOutcome::Duplicate(told)) => of == told,
            _ => false,
        };
        same!(
            is_same,
            "expected: {job:?} is {expected:?}\nhappened: {outcome:?}"
        );
        Ok(())
    }

    async fn reserve(
        &mut self,
        by: usize,
        shares: &[(usize, usize)],
        max: usize,
        lease: u32,
    ) -> Result<(), Broken> {
        let expected = self.counts(shares, max);
        let total: usize = expected.iter().map(|(_, count)| count).sum();
        let lease = self.time(lease);
        let jobs = self.reserved(by, shares, max, lease, total).await?;
        for (queue, count) in expected {
            let name = QUEUES[queue];
            let got = jobs
                .iter()
                .filter(|job| job.lease.queue.as_str() == name)
                .count();
            same!(
                got == count,
                "expected: {count} jobs of `{name}` for the shares {shares:?} of {max}\n\
                 happened: {got}: {}",
                listed(&jobs)
            );
        }
        self.in_order(&jobs)?;
        for job in jobs {
            self.deliver(job, lease)?;
        }
        Ok(())
    }

    /// How many jobs of each queue a reservation takes: up to its share first, then in order.
    fn counts(&self, shares: &[(usize, usize)], max: usize) -> Vec<(usize, usize)> {
        let mut room = max;
        let ready = |queue: usize| self.model.eligible(&self.at(queue).queue).len();
        let mut counts: Vec<_> = shares
            .iter()
            .map(|(queue, share)| {
                let count = ready(*queue).min(*share).min(room);
                room -= count;
                (*queue, count)
            })
            .collect();
        for (queue, count) in &mut counts {
            let more = (ready(*queue) - *count).min(room);
            room -= more;
            *count += more;
        }
        counts
    }

    /// Reserves; a backend that needs a moment to show what is due gets it.
    async fn reserved(
        &self,
        by: usize,
        shares: &[(usize, usize)],
        max: usize,
        lease: Duration,
        expected: usize,
    ) -> Result<Vec<Reserved>, Broken> {
        let client = &self.clients[by];
        let queues: Vec<_> = shares
            .iter()
            .map(|(queue, share)| QueueShare {
                queue: self.at(*queue).queue,
                share: *share,
            })
            .collect();
        let mut jobs: Vec<Reserved> = Vec::new();
        loop {
            for queue in &queues {
                client.on(queue.queue.as_str()).upkeep().await;
            }
            let request = ReserveRequest {
                queues: queues.clone(),
                max: max - jobs.len(),
                lease,
                wait: Duration::ZERO,
                cancel: CancellationToken::new(),
            };
            let more = client.driver.reserve(request).await;
            let more = more.map_err(|e| Broken::Promise(format!("a reserve failed: {e}")))?;
            jobs.extend(more);
            if jobs.len() >= expected || self.lag() > self.step / 5 || jobs.len() == max {
                return Ok(jobs);
            }
            sleep(self.step / 100).await;
        }
    }

    /// Jobs that nothing has happened to since their push come in the order of their pushes.
    fn in_order(&self, jobs: &[Reserved]) -> Result<(), Broken> {
        if !self.bench.can().ordering {
            return Ok(());
        }
        for name in QUEUES {
            let of_queue = |job: &&Reserved| job.lease.queue.as_str() == name;
            let got: Vec<_> = jobs
                .iter()
                .filter(of_queue)
                .map(|job| job.lease.id)
                .collect();
            let fresh = |id: &JobId| self.model.is_fresh(*id);
            let got: Vec<_> = got.into_iter().filter(fresh).collect();
            let queue = crate::tools::queue_name(name);
            let first: Vec<_> = self
                .model
                .eligible(&queue)
                .into_iter()
                .filter(fresh)
                .take(got.len())
                .collect();
            same!(
                got == first,
                "expected: of the new jobs of `{name}`, the first ones, {first:?}\n\
                 happened: {got:?}"
            );
        }
        Ok(())
    }

    fn deliver(&mut self, job: Reserved, lease: Duration) -> Result<(), Broken> {
        let id = job.lease.id;
        let eligible: HashSet<_> = self.model.eligible(&job.lease.queue).into_iter().collect();
        let told = format!("{job:?}");
        same!(
            eligible.contains(&id),
            "expected: only jobs that are due and free are reserved\nhappened: {told}"
        );
        let Some(delivery) = self.model.reserve(id, lease) else {
            return Ok(());
        };
        same!(
            delivery.attempt == job.attempt && delivery.body == job.body,
            "expected: this is attempt {} of {:?}\nhappened: {told}",
            delivery.attempt,
            delivery.body
        );
        self.leases.push((job.lease, delivery.token));
        Ok(())
    }

    async fn extend(&mut self, nth: usize, by: u32) -> Result<(), Broken> {
        let Some((lease, token)) = self.lease(nth) else {
            return Ok(());
        };
        let by = self.time(by);
        let outcome = self.clients[nth % 2].extend(&lease, by).await;
        if self.judge(&lease, token, outcome)? {
            self.model.extend(lease.id, by);
        }
        Ok(())
    }

    async fn settle(&mut self, nth: usize, end: Ending) -> Result<(), Broken> {
        let Some((lease, token)) = self.lease(nth) else {
            return Ok(());
        };
        let verdict = end.verdict(|steps| self.time(steps));
        let outcome = self.clients[nth % 2].settle(&lease, verdict.clone()).await;
        if self.judge(&lease, token, outcome)? {
            self.model.settle(lease.id, &verdict);
        }
        Ok(())
    }

    /// Whether a call under a lease took effect, if that is possible.
    fn judge(&self, lease: &Lease, token: u64, outcome: LeaseOutcome) -> Result<bool, Broken> {
        let standing = self.model.standing(lease.id, token);
        let is_done = outcome == LeaseOutcome::Done;
        let is_possible = match standing {
            Standing::Held => is_done,
            Standing::Expired => true,
            Standing::Gone => !is_done || !self.bench.can().stale_settle,
        };
        same!(
            is_possible,
            "expected: {lease:?} is answered as what it is, {standing:?}\nhappened: {outcome:?}"
        );
        Ok(is_done && standing != Standing::Gone)
    }

    async fn elapse(&mut self, steps: u32) -> Result<(), Broken> {
        self.compare().await?;
        self.steps += steps;
        if self.bench.timing.is_virtual {
            let left = (self.step * self.steps).saturating_sub(self.began.elapsed());
            self.bench.elapse(left).await;
        } else {
            sleep_until(self.began + self.step * self.steps).await;
        }
        self.model.advance_to(self.step * self.steps);
        Ok(())
    }

    pub(super) fn at(&self, queue: usize) -> Client {
        self.clients[0].on(QUEUES[queue])
    }

    fn lease(&self, nth: usize) -> Option<(Lease, u64)> {
        // The newest are picked most often, by counting from the end in a small window.
        let count = self.leases.len();
        let back = nth % count.clamp(1, 8);
        self.leases.get(count.checked_sub(back + 1)?).cloned()
    }
}
