//! `attempt` is 1-based, raised when the job is reserved, and survives crashes. A job that kills
//! its process cannot loop for ever.

use std::time::Duration;

use goqueue_core::{
    dead_letter::DeadReason,
    driver::{Selection, Verdict},
};

use crate::{
    check::promise,
    harness::Harness,
    tools::{Bench, Client, Probe},
};

pub(crate) async fn attempts_count_deliveries(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    client.put("job").await;
    for attempt in 1..=5 {
        let job = client.take_one().await;
        promise!(job.attempt == attempt, "this is attempt {attempt}"; "{job:?}");
        client.retry(&job.lease, Duration::ZERO).await;
    }
}

pub(crate) async fn attempts_survive_lost_leases(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let (one, other) = (b.client(), b.another().await);
    one.put("job").await;
    for attempt in 1..=4 {
        let client = if attempt % 2 == 0 { &other } else { &one };
        let job = client.take_one().await;
        promise!(
            job.attempt == attempt,
            "after {} lost leases this is attempt {attempt}",
            attempt - 1;
            "{job:?}"
        );
        b.elapse(b.lease()).await;
    }
}

pub(crate) async fn attempts_are_counted_job_by_job(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let failing = client.put("failing").await;
    let job = client.take_one().await;
    client.retry(&job.lease, Duration::ZERO).await;
    client.put("new").await;
    for job in client.take(2).await {
        let attempt = if job.lease.id == failing { 2 } else { 1 };
        promise!(job.attempt == attempt, "each job has attempts of its own"; "{job:?}");
    }
}

pub(crate) async fn a_release_gives_its_attempt_back(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    client.put("job").await;
    let first = client.take_one().await;
    client.retry(&first.lease, Duration::ZERO).await;
    let gives_back = b.can().release_without_attempt;
    for n in 0..3 {
        let job = client.take_one().await;
        let attempt = if gives_back { 2 } else { 2 + n };
        promise!(
            job.attempt == attempt,
            "after {n} releases this is attempt {attempt} (release_without_attempt: {gives_back})";
            "{job:?}"
        );
        client.release(&job.lease, Duration::ZERO).await;
    }
}

pub(crate) async fn a_job_that_kills_its_workers_dies_without_a_run(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let id = enqueue_with_attempts(&b, 2).await;
    loses(&b, &client, 2).await;
    let worker = b.worker(|w| w);
    let metrics = worker.reported(1, b.patience()).await;
    promise!(
        b.records.runs().is_empty(),
        "a job whose attempts are used up is not run";
        "the runs were:{}",
        b.records.told()
    );
    promise!(
        metrics[0].outcome == goqueue_core::JobOutcome::Dead(DeadReason::WorkerLost),
        "its end is reported as dead, worker lost";
        "{metrics:?}"
    );
    if let Some(letters) = client.buried(1).await {
        let letter = &letters[0];
        promise!(
            letter.id == id && letter.reason == DeadReason::WorkerLost && letter.attempts == 3,
            "job {id} is a dead letter after 3 deliveries, because its worker was lost";
            "{letter:?}"
        );
        promise!(
            letter.error.contains("lost"),
            "the reason says that the worker was lost";
            "`{}`",
            letter.error
        );
    }
    client.is_over(1).await;
    worker.stop(b.patience()).await;
}

pub(crate) async fn the_last_attempt_is_still_run(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    enqueue_with_attempts(&b, 3).await;
    loses(&b, &client, 2).await;
    let worker = b.worker(|w| w);
    b.records.ended(1, b.patience()).await;
    let attempts = b.records.attempts("job");
    promise!(attempts == [3], "attempt 3 of 3 is run"; "the attempts run were {attempts:?}");
    client.is_over(0).await;
    worker.stop(b.patience()).await;
}

pub(crate) async fn a_redriven_job_starts_over(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let Some(inspect) = client.inspect() else {
        return crate::cases::c06_dead_letters::inspection_is_refused(&b);
    };
    client.put("job").await;
    for _ in 0..2 {
        let job = client.take_one().await;
        client.retry(&job.lease, Duration::ZERO).await;
    }
    let job = client.take_one().await;
    client.bury(&job.lease).await;
    client.buried(1).await;
    let moved = inspect.requeue_dead(&client.queue, Selection::All).await;
    promise!(matches!(moved, Ok(1)), "one dead letter is made ready again"; "{moved:?}");
    let job = client.take_one().await;
    promise!(job.attempt == 1, "a redriven job has spent no attempt"; "{job:?}");
    client.end(&job.lease, Verdict::Ack).await;
    client.is_over(0).await;
}

async fn enqueue_with_attempts(b: &Bench<'_>, attempts: u32) -> goqueue_core::JobId {
    let enqueue = b
        .queue()
        .enqueue(Probe::succeeding("job"))
        .max_attempts(attempts);
    enqueue
        .await
        .unwrap_or_else(|error| panic!("enqueue failed: {error}"))
        .id()
}

/// Takes the job `times` times and never answers.
async fn loses(b: &Bench<'_>, client: &Client, times: u32) {
    for attempt in 1..=times {
        let job = client.take_one().await;
        promise!(job.attempt == attempt, "this is attempt {attempt}"; "{job:?}");
        b.elapse(b.lease()).await;
    }
}
