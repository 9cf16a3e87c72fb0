//! What is this driver's own; the conformance suite proves the contract.

mod capacity;
mod connect;
mod dead;
mod inspect;
mod invariants;
mod lanes;
mod leases;
mod reserve;
mod sink;
mod testing;
mod unique;
mod upkeep;
mod waiting;

use std::time::Duration;

use bytes::Bytes;
use goqueue_core::{
    JobId, QueueName,
    dead_letter::DeadReason,
    driver::{
        Driver, Inspect, JobState, Lease, LeaseOutcome, NewJob, PageRequest, PushOutcome,
        QueueShare, QueueStats, ReserveRequest, Reserved, Selection, Settlement, UniqueKey,
        Verdict,
    },
};
use tokio_util::sync::CancellationToken;

use crate::MemoryDriver;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

fn name(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

/// A job of queue `q`, whose body is a label.
fn job(label: &str) -> NewJob {
    NewJob {
        id: JobId::new(),
        queue: name("q"),
        body: Bytes::copy_from_slice(label.as_bytes()),
        delay: Duration::ZERO,
        ordering_key: None,
        unique: None,
    }
}

fn delayed(label: &str, delay: Duration) -> NewJob {
    NewJob {
        delay,
        ..job(label)
    }
}

fn keyed(label: &str, key: &str) -> NewJob {
    NewJob {
        ordering_key: Some(key.into()),
        ..job(label)
    }
}

fn unique(label: &str, key: &str, hold: Duration) -> NewJob {
    NewJob {
        unique: Some(UniqueKey {
            key: key.into(),
            hold,
        }),
        ..job(label)
    }
}

/// Asks queue `q`, for a minute's lease, without waiting.
fn ask(max: usize) -> ReserveRequest {
    ReserveRequest {
        queues: vec![QueueShare {
            queue: name("q"),
            share: max,
        }],
        max,
        lease: MINUTE,
        wait: Duration::ZERO,
        cancel: CancellationToken::new(),
    }
}

fn ack() -> Verdict {
    Verdict::Ack
}

fn retry(delay: Duration) -> Verdict {
    Verdict::Retry {
        delay,
        error: "it failed".into(),
    }
}

fn release(delay: Duration) -> Verdict {
    Verdict::Release { delay }
}

fn dead() -> Verdict {
    Verdict::Dead {
        reason: DeadReason::Permanent,
        error: "never mind".into(),
    }
}

fn label(job: &Reserved) -> &str {
    std::str::from_utf8(&job.body).unwrap()
}

fn labels(jobs: &[Reserved]) -> Vec<&str> {
    jobs.iter().map(label).collect()
}

fn is_stored(outcome: &PushOutcome) -> bool {
    matches!(outcome, PushOutcome::Stored)
}

fn duplicate_of(outcome: &PushOutcome) -> Option<JobId> {
    match outcome {
        PushOutcome::Duplicate(id) => Some(*id),
        _ => None,
    }
}

/// Shorthands over the trait.
impl MemoryDriver {
    async fn put(&self, job: NewJob) -> PushOutcome {
        self.push(vec![job]).await.unwrap().remove(0)
    }

    /// Stores plain jobs and expects them to be.
    async fn store(&self, jobs: Vec<NewJob>) {
        let outcomes = self.push(jobs).await.unwrap();
        assert!(outcomes.iter().all(is_stored), "{outcomes:?}");
    }

    async fn take(&self, max: usize) -> Vec<Reserved> {
        self.reserve(ask(max)).await.unwrap()
    }

    async fn take_one(&self) -> Reserved {
        self.take(1).await.pop().expect("a job is ready")
    }

    async fn end(&self, job: &Reserved, verdict: Verdict) -> LeaseOutcome {
        self.end_lease(job.lease.clone(), verdict).await
    }

    async fn end_lease(&self, lease: Lease, verdict: Verdict) -> LeaseOutcome {
        self.settle(vec![Settlement { lease, verdict }])
            .await
            .unwrap()
            .remove(0)
    }

    /// Stores one job and lets it die.
    async fn bury(&self, label: &str) -> JobId {
        self.store(vec![job(label)]).await;
        let taken = self.take_one().await;
        assert_eq!(self.end(&taken, dead()).await, LeaseOutcome::Done);
        taken.lease.id
    }

    async fn counts(&self) -> QueueStats {
        self.stats(&name("q")).await.unwrap()
    }

    async fn peeked(&self, state: JobState) -> Vec<String> {
        let page = self
            .peek(&name("q"), state, PageRequest::first(100))
            .await
            .unwrap();
        page.items
            .iter()
            .map(|job| String::from_utf8(job.body.to_vec()).unwrap())
            .collect()
    }
}
