use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use goqueue_core::{
    JobId, QueueName,
    dead_letter::DeadReason,
    driver::{
        DeadLetterInfo, Driver, Inspect, InspectCapability, Lease, LeaseOutcome, NewJob,
        PageRequest, PushOutcome, QueueShare, QueueStats, ReserveRequest, Reserved, Settlement,
        UniqueKey, Verdict,
    },
};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::{check::promise, harness::Timing};

/// One process as the backend sees it: a handle, and the calls a worker would make with it.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) queue: QueueName,
    pub(crate) timing: Timing,
}

/// Checks a name that a case made up.
pub(crate) fn queue_name(name: &str) -> QueueName {
    QueueName::new(name).expect("a case uses valid queue names")
}

impl Client {
    /// The same process, looking at another queue.
    pub(crate) fn on(&self, queue: &str) -> Self {
        Self {
            queue: queue_name(queue),
            ..self.clone()
        }
    }

    /// A job for this queue, due now.
    pub(crate) fn job(&self, body: impl Into<Bytes>) -> NewJob {
        NewJob {
            id: JobId::new(),
            queue: self.queue.clone(),
            body: body.into(),
            delay: Duration::ZERO,
            ordering_key: None,
            unique: None,
        }
    }

    pub(crate) fn keyed(&self, body: impl Into<Bytes>, ordering_key: &str) -> NewJob {
        NewJob {
            ordering_key: Some(ordering_key.into()),
            ..self.job(body)
        }
    }

    pub(crate) fn unique(&self, key: &str, hold: Duration) -> NewJob {
        let unique = UniqueKey {
            key: key.into(),
            hold,
        };
        NewJob {
            unique: Some(unique),
            ..self.job(format!("unique {key}"))
        }
    }

    /// Pushes one job.
    pub(crate) async fn push(&self, job: NewJob) -> PushOutcome {
        let mut outcomes = self.push_all(vec![job]).await;
        outcomes.remove(0)
    }

    /// Pushes jobs in one call.
    pub(crate) async fn push_all(&self, jobs: Vec<NewJob>) -> Vec<PushOutcome> {
        let count = jobs.len();
        let outcomes = self.driver.push(jobs).await;
        let outcomes = outcomes.unwrap_or_else(|error| panic!("push failed: {error}"));
        promise!(
            outcomes.len() == count,
            "a push answers once for each of its {count} jobs";
            "{} answers: {outcomes:?}",
            outcomes.len()
        );
        outcomes
    }

    /// Pushes a job that has to be stored.
    pub(crate) async fn store(&self, job: NewJob) -> JobId {
        let id = job.id;
        let outcome = self.push(job).await;
        promise!(
            matches!(outcome, PushOutcome::Stored),
            "a job that nothing speaks against is stored";
            "{outcome:?}"
        );
        id
    }

    /// Stores a job with nothing but a body.
    pub(crate) async fn put(&self, body: &str) -> JobId {
        self.store(self.job(body.to_owned())).await
    }

    /// Lets the backend promote and recover until it has nothing left to do.
    pub(crate) async fn upkeep(&self) {
        for _ in 0..10_000 {
            let done = self
                .driver
                .maintain(std::slice::from_ref(&self.queue))
                .await;
            let done = done.unwrap_or_else(|error| panic!("maintain failed: {error}"));
            let is_quiet = done.promoted == 0 && done.recovered == 0;
            if is_quiet && !done.next.is_zero() {
                return;
            }
        }
        panic!("expected: upkeep comes to an end\nhappened: 10,000 passes all wanted another one");
    }

    /// One reservation of this queue, without waiting.
    pub(crate) async fn reserve(&self, max: usize) -> Vec<Reserved> {
        self.reserve_for(max, Duration::ZERO).await
    }

    /// One reservation of this queue that waits for its first job.
    pub(crate) async fn reserve_for(&self, max: usize, wait: Duration) -> Vec<Reserved> {
        let request = self.request(max, wait);
        let jobs = self.driver.reserve(request).await;
        let jobs = jobs.unwrap_or_else(|error| panic!("reserve failed: {error}"));
        promise!(
            jobs.len() <= max,
            "a reservation of {max} takes no more than that";
            "it took {}",
            jobs.len()
        );
        jobs
    }

    pub(crate) fn request(&self, max: usize, wait: Duration) -> ReserveRequest {
        ReserveRequest {
            queues: vec![QueueShare {
                queue: self.queue.clone(),
                share: max,
            }],
            max,
            lease: self.timing.lease,
            wait,
            cancel: CancellationToken::new(),
        }
    }

    /// Reserves exactly `count` jobs that are due, as soon as the backend shows them.
    pub(crate) async fn take(&self, count: usize) -> Vec<Reserved> {
        let start = Instant::now();
        let mut jobs = Vec::new();
        loop {
            self.upkeep().await;
            jobs.extend(self.reserve(count - jobs.len()).await);
            if jobs.len() == count {
                return jobs;
            }
            promise!(
                start.elapsed() <= self.timing.tolerance,
                "{count} jobs of queue `{}` can be reserved within {:?}",
                self.queue,
                self.timing.tolerance;
                "only {} came: {}",
                jobs.len(),
                listed(&jobs)
            );
            sleep(self.timing.tolerance / 20).await;
        }
    }

    pub(crate) async fn take_one(&self) -> Reserved {
        self.take(1).await.remove(0)
    }

    /// Requires that nothing of this queue can be reserved now.
    pub(crate) async fn finds_nothing(&self, why: &str) {
        self.upkeep().await;
        let jobs = self.reserve(10).await;
        promise!(
            jobs.is_empty(),
            "nothing can be reserved: {why}";
            "reserved {}",
            listed(&jobs)
        );
    }

    /// Settles one lease.
    pub(crate) async fn settle(&self, lease: &Lease, verdict: Verdict) -> LeaseOutcome {
        let settlement = Settlement {
            lease: lease.clone(),
            verdict,
        };
        let outcomes = self.driver.settle(vec![settlement]).await;
        one(&outcomes.unwrap_or_else(|error| panic!("settle failed: {error}")))
    }

    /// Settles one lease that has to hold.
    pub(crate) async fn end(&self, lease: &Lease, verdict: Verdict) {
        let told = format!("{verdict:?}");
        let outcome = self.settle(lease, verdict).await;
        promise!(
            outcome == LeaseOutcome::Done,
            "{told} of job {} takes effect under its valid lease",
            lease.id;
            "{outcome:?}"
        );
    }

    pub(crate) async fn ack(&self, lease: &Lease) {
        self.end(lease, Verdict::Ack).await;
    }

    pub(crate) async fn retry(&self, lease: &Lease, delay: Duration) {
        self.end(lease, retry(delay)).await;
    }

    pub(crate) async fn release(&self, lease: &Lease, delay: Duration) {
        self.end(lease, Verdict::Release { delay }).await;
    }

    pub(crate) async fn bury(&self, lease: &Lease) {
        self.end(lease, dead()).await;
    }

    pub(crate) async fn extend(&self, lease: &Lease, by: Duration) -> LeaseOutcome {
        let outcomes = self.driver.extend(vec![lease.clone()], by).await;
        one(&outcomes.unwrap_or_else(|error| panic!("extend failed: {error}")))
    }

    pub(crate) fn inspect(&self) -> Option<&dyn Inspect> {
        self.driver.inspect()
    }

    /// Waits until the counts of this queue are as they should be. Does nothing on a backend that
    /// does not count.
    pub(crate) async fn counts(&self, what: &str, hold: impl Fn(&QueueStats) -> bool) {
        let Some(inspect) = self.inspect() else {
            return;
        };
        let start = Instant::now();
        loop {
            self.upkeep().await;
            let stats = inspect.stats(&self.queue).await;
            let stats = stats.unwrap_or_else(|error| panic!("stats failed: {error}"));
            if hold(&stats) {
                return;
            }
            promise!(
                start.elapsed() <= self.timing.tolerance,
                "the counts of queue `{}` tell {what}",
                self.queue;
                "{stats:?}"
            );
            sleep(self.timing.tolerance / 20).await;
        }
    }

    /// Waits until so many jobs are ready, scheduled, running and dead, as far as the backend can
    /// tell these apart.
    pub(crate) async fn holds(&self, what: &str, jobs: [u64; 4]) {
        let can = self.driver.capabilities().inspect;
        self.counts(what, |stats| is_counted_as(can, stats, jobs))
            .await;
    }

    /// Waits until the queue is empty but for `dead` dead letters.
    pub(crate) async fn is_over(&self, dead: u64) {
        self.counts("that nothing is left but the dead letters", |stats| {
            stats.ready + stats.scheduled + stats.running == 0 && stats.dead == dead
        })
        .await;
    }

    /// All dead letters of this queue; `None` on a backend that does not list them.
    pub(crate) async fn dead_letters(&self) -> Option<Vec<DeadLetterInfo>> {
        let page = self
            .inspect()?
            .dead_letters(&self.queue, PageRequest::first(100))
            .await;
        Some(
            page.unwrap_or_else(|error| panic!("listing dead letters failed: {error}"))
                .items,
        )
    }

    /// Waits for exactly this many dead letters.
    pub(crate) async fn buried(&self, count: usize) -> Option<Vec<DeadLetterInfo>> {
        let start = Instant::now();
        loop {
            let letters = self.dead_letters().await?;
            if letters.len() == count {
                return Some(letters);
            }
            promise!(
                start.elapsed() <= self.timing.tolerance,
                "queue `{}` has {count} dead letters",
                self.queue;
                "{letters:?}"
            );
            sleep(self.timing.tolerance / 20).await;
        }
    }
}

/// Whether a backend's counts are those of so many ready, scheduled, running and dead jobs. One that
/// cannot list its jobs may take a scheduled one for ready or for running.
pub(crate) fn is_counted_as(can: InspectCapability, told: &QueueStats, jobs: [u64; 4]) -> bool {
    let [ready, scheduled, running, dead] = jobs;
    if can == InspectCapability::Full {
        return [told.ready, told.scheduled, told.running, told.dead] == jobs;
    }
    told.ready + told.scheduled + told.running == ready + scheduled + running
        && told.ready >= ready
        && told.running >= running
        && told.dead == dead
}

/// A failure to be tried again after `delay`.
pub(crate) fn retry(delay: Duration) -> Verdict {
    Verdict::Retry {
        delay,
        error: "it failed".into(),
    }
}

/// A failure for good.
pub(crate) fn dead() -> Verdict {
    Verdict::Dead {
        reason: DeadReason::Permanent,
        error: "it will never work".into(),
    }
}

/// Reservations as a failing case shows them.
pub(crate) fn listed(jobs: &[Reserved]) -> String {
    let mut told: Vec<_> = jobs
        .iter()
        .take(10)
        .map(|job| {
            let body = String::from_utf8_lossy(&job.body)
                .chars()
                .take(40)
                .collect::<String>();
            format!("{} (attempt {}, {body:?})", job.lease.id, job.attempt)
        })
        .collect();
    if jobs.len() > told.len() {
        told.push(format!("and {} more", jobs.len() - told.len()));
    }
    if told.is_empty() {
        "nothing".into()
    } else {
        told.join(", ")
    }
}

fn one(outcomes: &[LeaseOutcome]) -> LeaseOutcome {
    match outcomes {
        [outcome] => *outcome,
        _ => panic!("expected: one answer for one lease\nhappened: {outcomes:?}"),
    }
}
