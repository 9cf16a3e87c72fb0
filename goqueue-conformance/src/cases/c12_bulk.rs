//! `enqueue_all` takes any number of jobs, splits them to the backend's limits, and answers for
//! each one. Nothing is retried blindly.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use goqueue_core::{
    Enqueued, Error, Queue,
    driver::{BatchLimits, Capabilities, Driver, NewJob, PushOutcome},
    queue::BulkError,
};

use crate::{
    check::promise,
    harness::Harness,
    tools::{Bench, Probe},
    wrap::{Around, Call, Spy, Wrapped},
};

pub(crate) async fn thousands_are_stored_in_order(h: &dyn Harness) {
    const JOBS: usize = 3_000;
    let b = Bench::new(h).await;
    let (spy, queue) = watched(&b);
    let stored = queue
        .enqueue_all((0..JOBS).map(|n| Probe::succeeding(format!("{n}"))))
        .await;
    let stored = stored.unwrap_or_else(|error| panic!("enqueue_all failed: {error}"));
    let ids: Vec<_> = stored.iter().map(Enqueued::id).collect();
    promise!(
        ids.len() == JOBS && stored.iter().all(|answer| !answer.is_duplicate()),
        "there is one answer for each of {JOBS} jobs: stored";
        "{} answers, {} duplicates",
        ids.len(),
        stored.iter().filter(|answer| answer.is_duplicate()).count()
    );
    keeps_to_the_limits(&spy, b.can().batch);
    let client = b.client();
    let mut got = Vec::new();
    while got.len() < JOBS {
        let jobs = client.take(100.min(JOBS - got.len())).await;
        for job in jobs {
            got.push(job.lease.id);
            client.ack(&job.lease).await;
        }
    }
    client.is_over(0).await;
    let in_order = got == ids;
    got.sort_unstable();
    promise!(got == ids, "each job is there, once"; "they differ");
    // Without any order of its own a backend owes none here.
    promise!(in_order || !b.can().ordering, "they come in the order given"; "they do not");
}

pub(crate) async fn a_full_batch_is_taken(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let count = b.can().batch.jobs.min(1_000);
    let outcomes = client
        .push_all((0..count).map(|n| client.job(format!("{n}"))).collect())
        .await;
    let stored = outcomes
        .iter()
        .filter(|o| matches!(o, PushOutcome::Stored))
        .count();
    promise!(stored == count, "a batch of {count} is stored in one call"; "{stored} were");
    let nothing = client.push_all(Vec::new()).await;
    promise!(nothing.is_empty(), "an empty batch has no answers"; "{nothing:?}");
    client
        .counts(&format!("{count} ready jobs"), |stats| {
            stats.ready == count as u64
        })
        .await;
}

/// Ten bodies that each pass the limit of one job, and together may exceed that of a call.
pub(crate) async fn a_batch_is_split_by_its_bytes(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let (spy, queue) = watched(&b);
    // Room for the envelope around the text.
    let size = b.can().max_payload.min(1 << 20) - 1_000;
    let text = "x".repeat(size);
    let stored = queue
        .enqueue_all((0..10).map(|_| Probe::succeeding(&text)))
        .await;
    promise!(stored.is_ok(), "ten jobs of {size} bytes are stored"; "{:?}", stored.err());
    keeps_to_the_limits(&spy, b.can().batch);
    let client = b.client();
    let mut ids = HashSet::new();
    for _ in 0..10 {
        let job = client.take_one().await;
        promise!(
            job.body.len() > size,
            "a large body comes back whole";
            "{} bytes of more than {size}",
            job.body.len()
        );
        ids.insert(job.lease.id);
    }
    promise!(ids.len() == 10, "each is there once"; "{} are", ids.len());
}

pub(crate) async fn failures_within_a_batch_are_told(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let limit = b.can().max_payload;
    if limit > 64 << 20 {
        return unlimited_payloads_are_taken(&b).await;
    }
    let huge = "x".repeat(limit);
    let jobs = ["one", huge.as_str(), "three"].map(Probe::succeeding);
    let answer = b.queue().enqueue_all(jobs).await;
    let Err(Error::PartialBatch(failed)) = answer else {
        panic!(
            "expected: a batch with one job too large is a partial failure\nhappened: {answer:?}"
        )
    };
    promise!(
        failed.failed().eq([1])
            && matches!(failed.outcomes(), [Ok(_), Err(Error::PayloadTooLarge { .. }), Ok(_)]),
        "the second of three is refused for its size, the others are stored";
        "{failed}: {:?}",
        failed.outcomes()
    );
    let mut got: Vec<_> = b
        .client()
        .take(2)
        .await
        .iter()
        .map(|job| job.lease.id)
        .collect();
    got.sort_unstable();
    promise!(got == stored_ids(&failed), "what is said to be stored is there"; "{got:?}");
    b.client().finds_nothing("what was refused is not").await;
}

async fn unlimited_payloads_are_taken(b: &Bench<'_>) {
    let large = "x".repeat(8 << 20);
    let stored = b.queue().enqueue(Probe::succeeding(&large)).await;
    promise!(stored.is_ok(), "a driver without a limit takes 8 MiB"; "{stored:?}");
    let job = b.client().take_one().await;
    promise!(job.body.len() > large.len(), "it comes back whole"; "{} bytes", job.body.len());
}

pub(crate) async fn a_call_that_fails_ends_the_batch(h: &dyn Harness) {
    partial(h, false).await;
}

pub(crate) async fn a_call_without_an_answer_ends_the_batch(h: &dyn Harness) {
    partial(h, true).await;
}

/// The second of three calls goes wrong: the first part is stored, the rest is not known to be,
/// and nothing is sent again.
async fn partial(h: &dyn Harness, acts: bool) {
    const PART: usize = 7;
    let b = Bench::new(h).await;
    let mut can = b.can().clone();
    can.batch.jobs = PART;
    let inner = Arc::clone(&b.driver);
    let broken = BrokenSecond {
        inner,
        can,
        pushes: AtomicUsize::new(0),
        acts,
    };
    let driver = Arc::new(Wrapped(broken));
    let queue = Queue::from_shared(driver.clone());
    let jobs = (0..PART * 3).map(|n| Probe::succeeding(format!("{n}")));
    let answer = queue.enqueue_all(jobs).await;
    let Err(Error::PartialBatch(failed)) = answer else {
        panic!("expected: a call that failed makes a partial failure\nhappened: {answer:?}")
    };
    promise!(
        failed.failed().eq(PART..PART * 3) && failed.outcomes().len() == PART * 3,
        "the jobs of the first call are told as stored, all others as not";
        "{:?}",
        failed.outcomes()
    );
    let first = stored_ids(&failed);
    let error = Error::PartialBatch(failed);
    promise!(error.is_transient(), "the failure is transient"; "{error}");
    let calls = driver.0.pushes.load(Ordering::Relaxed);
    promise!(calls == 2, "nothing is retried blindly: two calls in all"; "{calls}");

    let expected = if acts { PART * 2 } else { PART };
    let got: HashSet<_> = b
        .client()
        .take(expected)
        .await
        .iter()
        .map(|job| job.lease.id)
        .collect();
    promise!(
        first.iter().all(|id| got.contains(id)),
        "what is told as stored is there: {first:?}";
        "{got:?}"
    );
    b.client()
        .finds_nothing("the third call was not made")
        .await;
}

/// Takes little per call, and breaks on the second one.
#[derive(Debug)]
struct BrokenSecond {
    inner: Arc<dyn Driver>,
    can: Capabilities,
    pushes: AtomicUsize,
    /// Whether the backend acts before the call breaks.
    acts: bool,
}

#[async_trait]
impl Around for BrokenSecond {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.inner
    }

    fn capabilities(&self) -> &Capabilities {
        &self.can
    }

    async fn push(&self, jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>, Error> {
        if self.pushes.fetch_add(1, Ordering::Relaxed) != 1 {
            return self.inner.push(jobs).await;
        }
        if self.acts {
            self.inner.push(jobs).await?;
        }
        Err(Error::Backend {
            driver: self.can.driver,
            operation: "push",
            transient: true,
            source: "the line broke".into(),
        })
    }
}

fn watched(b: &Bench<'_>) -> (Arc<Wrapped<Spy>>, Queue) {
    let spy = Spy::on(Arc::clone(&b.driver));
    let queue = b.impatient(spy.clone(), Duration::from_secs(60));
    (spy, queue)
}

fn keeps_to_the_limits(spy: &Wrapped<Spy>, limits: BatchLimits) {
    for call in spy.0.calls() {
        let Call::Push(sizes) = call else { continue };
        let bytes: usize = sizes.iter().sum();
        promise!(
            sizes.len() <= limits.jobs && (bytes <= limits.bytes || sizes.len() == 1),
            "no call carries more than {} jobs and {} bytes", limits.jobs, limits.bytes;
            "one carried {} jobs and {bytes} bytes",
            sizes.len()
        );
    }
}

fn stored_ids(failed: &BulkError) -> Vec<goqueue_core::JobId> {
    failed
        .outcomes()
        .iter()
        .flatten()
        .map(Enqueued::id)
        .collect()
}
