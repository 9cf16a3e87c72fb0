//! Whatever a handler answers, and whatever a job is made of, the worker goes on.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use goqueue_core::{
    JobMetrics, JobOutcome, RetryPolicy,
    dead_letter::DeadReason,
    driver::{JobState, PageRequest},
};

use crate::{
    check::promise,
    harness::Harness,
    tools::{Act, Bench, Crew, Probe, logged},
    wrap::{Call, Spy},
};

const AT_ONCE: RetryPolicy = RetryPolicy::constant(Duration::ZERO);

/// Runs one job by its script until the worker has reported `outcomes`, and nothing else.
async fn script(
    h: &dyn Harness,
    acts: &[Act],
    attempts: &[u32],
    outcomes: &[JobOutcome],
) -> Vec<JobMetrics> {
    let b = Bench::new(h).await;
    b.enqueue(Probe::new("job", acts)).await;
    let worker = b.worker(|w| w.retry(AT_ONCE.max_attempts(3)));
    let patience = b.patience() + b.lease() * outcomes.len() as u32;
    let metrics = worker.reported(outcomes.len(), patience).await;
    b.elapse(b.lease()).await;
    let seen: Vec<_> = worker.metrics().iter().map(|run| run.outcome).collect();
    promise!(seen == outcomes, "the runs of {acts:?} end as {outcomes:?}"; "{seen:?}");
    promise!(
        b.records.attempts("job") == attempts,
        "{acts:?} takes attempts {attempts:?}";
        "the runs were:{}",
        b.records.told()
    );
    goes_on(&b, &worker).await;
    let dead = outcomes
        .iter()
        .filter(|o| matches!(o, JobOutcome::Dead(_)))
        .count();
    b.client().is_over(dead as u64).await;
    worker.stop(b.patience()).await;
    metrics
}

/// None of these ever stops a worker.
async fn goes_on(b: &Bench<'_>, worker: &Crew) {
    promise!(worker.is_running(), "the worker is still running"; "it has ended");
    b.enqueue(Probe::succeeding("afterwards")).await;
    let is_done = |run: &crate::tools::Run| run.tag == "afterwards" && run.end.is_some();
    b.records
        .until("a job enqueued afterwards is run", b.patience(), |runs| {
            runs.iter().any(is_done)
        })
        .await;
}

fn retried() -> JobOutcome {
    JobOutcome::Retried(Duration::ZERO)
}

pub(crate) async fn success_ends_the_job(h: &dyn Harness) {
    script(h, &[Act::Succeed], &[1], &[JobOutcome::Succeeded]).await;
}

pub(crate) async fn any_error_is_retried(h: &dyn Harness) {
    let acts = [
        Act::Fail("first".into()),
        Act::Fail("second".into()),
        Act::Succeed,
    ];
    let metrics = script(
        h,
        &acts,
        &[1, 2, 3],
        &[retried(), retried(), JobOutcome::Succeeded],
    )
    .await;
    let errors: Vec<_> = metrics.iter().map(|run| run.error.as_deref()).collect();
    promise!(
        errors == [Some("first"), Some("second"), None],
        "each run is reported with its own error";
        "{errors:?}"
    );
}

pub(crate) async fn a_failure_may_name_its_delay(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let delay = b.lease();
    let act = Act::FailFor {
        millis: delay.as_millis() as u64,
        error: "busy".into(),
    };
    b.enqueue(Probe::new("job", [act, Act::Succeed])).await;
    let worker = b.worker(|w| w.retry(AT_ONCE));
    let metrics = worker.reported(2, b.patience() * 2).await;
    promise!(
        metrics[0].outcome == JobOutcome::Retried(delay),
        "it is retried after {delay:?} and not on the schedule";
        "{metrics:?}"
    );
    let runs = b.records.of("job");
    let waited = runs[1].started - runs[0].started;
    promise!(
        waited + Duration::from_millis(2) >= delay && runs[1].attempt == 2,
        "attempt 2 starts no earlier than {delay:?} later";
        "the runs were:{}",
        b.records.told()
    );
    worker.stop(b.patience()).await;
}

pub(crate) async fn a_permanent_error_is_not_retried(h: &dyn Harness) {
    let acts = [Act::Permanent("no such user".into())];
    let dead = JobOutcome::Dead(DeadReason::Permanent);
    let metrics = script(h, &acts, &[1], &[dead]).await;
    promise!(
        metrics[0].error.as_deref() == Some("no such user"),
        "the error is reported";
        "{metrics:?}"
    );
}

pub(crate) async fn a_snooze_spends_no_attempt(h: &dyn Harness) {
    let lease = h.timing().lease;
    let driver = h.driver().await;
    let gives_back = driver.capabilities().release_without_attempt;
    let attempts: &[u32] = if gives_back { &[1, 1, 1] } else { &[1, 2, 3] };
    let snoozed = JobOutcome::Snoozed(lease);
    let acts = [Act::snooze(lease), Act::snooze(lease), Act::Succeed];
    script(
        h,
        &acts,
        attempts,
        &[snoozed, snoozed, JobOutcome::Succeeded],
    )
    .await;
}

pub(crate) async fn a_discard_is_logged(h: &dyn Harness) {
    let acts = [Act::Discard("the account is closed".into())];
    let metrics = script(h, &acts, &[1], &[JobOutcome::Discarded]).await;
    let lines = logged(&metrics[0].id.to_string());
    promise!(
        lines.iter().any(|line| line.contains("the account is closed")),
        "the log names the job and the reason";
        "{lines:?}"
    );
}

pub(crate) async fn a_panic_is_a_failure(h: &dyn Harness) {
    let b = Bench::new(h).await;
    for n in 1..=10 {
        let act = if n == 4 {
            Act::Panic("the fourth is rotten".into())
        } else {
            Act::Succeed
        };
        b.enqueue(Probe::new(format!("job {n}"), [act])).await;
    }
    let worker = b.worker(|w| w.concurrency(2).retry(AT_ONCE.max_attempts(2)));
    let metrics = worker.reported(11, b.patience()).await;
    let succeeded = metrics
        .iter()
        .filter(|run| run.outcome == JobOutcome::Succeeded)
        .count();
    promise!(succeeded == 9, "nine of ten succeed"; "{metrics:?}");
    promise!(
        b.records.attempts("job 4") == [1, 2],
        "the one that panics is tried again";
        "the runs were:{}",
        b.records.told()
    );
    let panics: Vec<_> = metrics
        .iter()
        .filter_map(|run| run.error.as_deref())
        .collect();
    promise!(
        panics.len() == 2 && panics.iter().all(|error| error.contains("the fourth is rotten")),
        "its error is the panic's message";
        "{panics:?}"
    );
    goes_on(&b, &worker).await;
    if let Some(letters) = b.client().buried(1).await {
        promise!(
            letters[0].error.contains("the fourth is rotten"),
            "the dead letter has the panic's message";
            "{letters:?}"
        );
    }
    b.client().is_over(1).await;
    worker.stop(b.patience()).await;
}

pub(crate) async fn a_timeout_drops_the_handler(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let limit = b.lease() / 4;
    let job = Probe::new("job", [Act::Endless, Act::Succeed]);
    let enqueued = b.queue().enqueue(job).timeout(limit).await;
    promise!(enqueued.is_ok(), "the job is stored"; "{enqueued:?}");
    let worker = b.worker(|w| w.retry(AT_ONCE));
    let metrics = worker.reported(2, b.patience()).await;
    promise!(
        metrics[0].outcome == retried()
            && metrics[0].error.as_deref().is_some_and(|error| error.contains("timed out")),
        "a timeout is a failure that says so";
        "{metrics:?}"
    );
    let run = &b.records.of("job")[0];
    let lasted = run.end.map(|end| (end.is_dropped, end.at - run.started));
    promise!(
        matches!(lasted, Some((true, lasted)) if lasted >= limit
            && lasted <= limit + b.timing.tolerance),
        "the handler is dropped after {limit:?}";
        "the runs were:{}",
        b.records.told()
    );
    goes_on(&b, &worker).await;
    worker.stop(b.patience()).await;
}

pub(crate) async fn the_workers_timeout_is_the_default(h: &dyn Harness) {
    let b = Bench::new(h).await;
    b.enqueue(Probe::new("job", [Act::Endless, Act::Succeed]))
        .await;
    let worker = b.worker(|w| w.retry(AT_ONCE).timeout(b.lease() / 4));
    let metrics = worker.reported(2, b.patience()).await;
    promise!(metrics[0].outcome == retried(), "the endless run is a failure"; "{metrics:?}");
    worker.stop(b.patience()).await;
}

/// A handler that computes cannot be dropped meanwhile. It is a failure as soon as it comes back.
pub(crate) async fn a_blocking_handler_is_timed_out(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let limit = b.lease() / 10;
    let blocks = Act::Block {
        millis: b.lease().as_millis() as u64 / 2,
    };
    let job = Probe::new("blocks", [blocks, Act::Succeed]);
    let enqueued = b.queue().enqueue(job).timeout(limit).await;
    promise!(enqueued.is_ok(), "the job is stored"; "{enqueued:?}");
    let worker = b.worker(|w| w.retry(AT_ONCE));
    let metrics = worker.reported(2, b.patience()).await;
    promise!(
        metrics[0].outcome == retried()
            && metrics[0].error.as_deref().is_some_and(|error| error.contains("timed out")),
        "the run that blocked past its timeout is a failure that says so";
        "{metrics:?}"
    );
    let run = &b.records.of("blocks")[0];
    promise!(
        run.end.is_some_and(|end| end.is_dropped),
        "what it does after it has blocked is not waited for";
        "the runs were:{}",
        b.records.told()
    );
    goes_on(&b, &worker).await;
    promise!(
        b.records.attempts("blocks") == [1, 2],
        "it is tried again once";
        "the runs were:{}",
        b.records.told()
    );
    b.client().is_over(0).await;
    worker.stop(b.patience()).await;
}

pub(crate) async fn a_callback_that_panics_harms_nobody(h: &dyn Harness) {
    let b = Bench::new(h).await;
    for n in 0..5 {
        b.enqueue(Probe::succeeding(format!("job {n}"))).await;
    }
    let worker = b.worker(|w| w.on_job_complete(|_| panic!("the callback is rotten")));
    worker.reported(5, b.patience()).await;
    goes_on(&b, &worker).await;
    b.client().is_over(0).await;
    worker.stop(b.patience()).await;
}

pub(crate) async fn an_unknown_name_is_a_failure(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let enqueued = b
        .queue()
        .enqueue_raw("conformance.unheard-of", serde_json::json!({}))
        .queue(crate::tools::QUEUE)
        .retry(AT_ONCE)
        .max_attempts(2)
        .await;
    promise!(enqueued.is_ok(), "a job can be enqueued by name"; "{enqueued:?}");
    let worker = b.worker(|w| w);
    let metrics = worker.reported(2, b.patience()).await;
    let outcomes: Vec<_> = metrics.iter().map(|run| run.outcome).collect();
    promise!(
        outcomes == [retried(), JobOutcome::Dead(DeadReason::Exhausted)],
        "a name that this worker does not know is retried: a newer worker may know it";
        "{metrics:?}"
    );
    promise!(
        metrics.iter().flat_map(|run| &run.error).all(|e| e.contains("conformance.unheard-of")),
        "the error names the job";
        "{metrics:?}"
    );
    goes_on(&b, &worker).await;
    b.client().is_over(1).await;
    worker.stop(b.patience()).await;
}

/// Bytes that are no envelope, an envelope of another job type's payload, then good jobs.
pub(crate) async fn what_does_not_decode_is_dead_at_once(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let garbage = Bytes::from_static(b"\x00\xff no envelope {");
    let bad = client.store(client.job(garbage.clone())).await;
    let enqueued = b
        .queue()
        .enqueue_raw(
            "conformance.probe",
            serde_json::json!({ "tag": 7, "not": "a probe" }),
        )
        .queue(crate::tools::QUEUE)
        .await;
    let odd = enqueued
        .unwrap_or_else(|error| panic!("enqueue failed: {error}"))
        .id();
    for n in 0..5 {
        b.enqueue(Probe::succeeding(format!("good {n}"))).await;
    }
    let spy = Spy::on(Arc::clone(&b.driver));
    let worker = b.worker_on(spy.clone(), |w| w.retry(AT_ONCE));
    let metrics = worker.reported(7, b.patience()).await;
    let reserved = spy
        .0
        .calls()
        .iter()
        .filter(|call| matches!(call, Call::Reserve(_)))
        .count();
    promise!(reserved < 20, "fewer than 20 reservations are made"; "{reserved}");
    let dead = JobOutcome::Dead(DeadReason::Undecodable);
    let died = metrics
        .iter()
        .filter(|run| run.outcome == dead && run.attempt == 1)
        .count();
    promise!(died == 2, "the two that do not decode die at once"; "{metrics:?}");
    b.records.ended(5, b.patience()).await;
    b.client().is_over(2).await;
    if let Some(letters) = client.buried(2).await {
        let letter = |id| letters.iter().find(|letter| letter.id == id);
        promise!(
            letter(bad).is_some_and(|l| l.body == garbage && l.reason == DeadReason::Undecodable
                && !l.error.is_empty()),
            "what is no envelope is kept byte-equal, with a reason";
            "{letters:?}"
        );
        promise!(
            letter(odd).is_some_and(|l| l.reason == DeadReason::Undecodable
                && l.error.contains("expected a string")),
            "what is no payload of its type is kept with the decoder's message";
            "{letters:?}"
        );
    }
    worker.stop(b.patience()).await;
}

pub(crate) async fn the_last_error_is_kept_with_the_job(h: &dyn Harness) {
    let b = Bench::new(h).await;
    b.enqueue(Probe::failing("job")).await;
    let worker = b.worker(|w| w.retry(RetryPolicy::constant(b.lease() * 20)));
    worker.reported(1, b.patience()).await;
    worker.stop(b.patience()).await;
    let client = b.client();
    let Some(inspect) = client.inspect() else {
        return crate::cases::c06_dead_letters::inspection_is_refused(&b);
    };
    let page = inspect
        .peek(&client.queue, JobState::Scheduled, PageRequest::first(5))
        .await;
    let kept = match page {
        Ok(page) => page.items.first().and_then(|info| info.last_error.clone()),
        // Said by the capability, and checked where the states are looked at.
        Err(goqueue_core::Error::Unsupported { .. }) => return,
        Err(error) => panic!("peek failed: {error}"),
    };
    promise!(kept.as_deref() == Some("it never works"), "it is kept"; "{kept:?}");
}
