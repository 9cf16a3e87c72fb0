//! A failed job is due again after `min(max_delay, initial_delay * multiplier^(n-1))`, the same on
//! every driver.

use std::{fmt::Write, time::Duration};

use goqueue_core::{
    Envelope, Job, JobId, JobOutcome, RetryPolicy,
    dead_letter::DeadReason,
    driver::{NewJob, Verdict},
};

use crate::{
    check::promise,
    harness::Harness,
    tools::{Act, Bench, Probe, queue_name},
};

/// The job whose schedule is pinned: jitter depends on nothing but the id and the attempt.
const PINNED: &str = "0190a8f1-7c3e-7b4a-9d2e-3f1a5b6c7d8e";

/// What a trace may be printed with, side by side for all drivers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    attempt: u32,
    planned: Option<Duration>,
    outcome: &'static str,
}

fn retried(attempt: u32, millis: u64) -> Step {
    Step {
        attempt,
        planned: Some(Duration::from_millis(millis)),
        outcome: "retried",
    }
}

fn dead(attempt: u32) -> Step {
    Step {
        attempt,
        planned: None,
        outcome: "dead",
    }
}

pub(crate) async fn the_trace_of_a_failing_job_is_pinned(h: &dyn Harness) {
    let policy = RetryPolicy::exponential(Duration::from_secs(1))
        .max_delay(Duration::from_secs(3))
        .max_attempts(4);
    let expected = [
        retried(1, 1000),
        retried(2, 2000),
        retried(3, 3000),
        dead(4),
    ];
    trace(h, policy, &expected).await;
}

pub(crate) async fn a_jittered_trace_is_pinned(h: &dyn Harness) {
    let policy = RetryPolicy::exponential(Duration::from_secs(1))
        .jitter(0.5)
        .max_attempts(3);
    // Worked out once: 1 s and 2 s, shortened by what the id and the attempt say. Equal for ever.
    let expected = [retried(1, 780), retried(2, 1950), dead(3)];
    trace(h, policy, &expected).await;
}

pub(crate) async fn a_constant_trace_is_pinned(h: &dyn Harness) {
    let policy = RetryPolicy::constant(Duration::from_secs(1)).max_attempts(4);
    let expected = [
        retried(1, 1000),
        retried(2, 1000),
        retried(3, 1000),
        dead(4),
    ];
    trace(h, policy, &expected).await;
}

/// Lets the pinned job fail to its end and compares what was planned and what happened.
async fn trace(h: &dyn Harness, policy: RetryPolicy, expected: &[Step]) {
    let b = Bench::new(h).await;
    let client = b.client();
    client.store(pinned_job(policy)).await;
    let worker = b.worker(|w| w.retry(RetryPolicy::constant(Duration::from_secs(77))));
    let total: Duration = expected.iter().filter_map(|step| step.planned).sum();
    let patience = total + b.patience() * 4;
    let metrics = worker.reported(expected.len(), patience).await;
    let steps: Vec<_> = metrics
        .iter()
        .map(|run| Step {
            attempt: run.attempt,
            planned: match run.outcome {
                JobOutcome::Retried(delay) => Some(delay),
                _ => None,
            },
            outcome: run.outcome.as_str(),
        })
        .collect();
    println!("{}", told(h.name(), &steps));
    promise!(
        steps == expected,
        "job {PINNED} under {policy:?} has the {}", told("contract", expected);
        "it has the {}",
        told(h.name(), &steps)
    );
    let runs = b.records.of("pinned");
    for (pair, step) in runs.windows(2).zip(expected) {
        let planned = step.planned.unwrap_or_default();
        let ended = pair[0].end.map_or(pair[0].started, |end| end.at);
        keeps_to(&b, planned, pair[1].started - ended, pair[1].attempt);
    }
    if let Some(letters) = client.buried(1).await {
        promise!(
            letters[0].reason == DeadReason::Exhausted
                && letters[0].attempts as usize == expected.len(),
            "one dead letter after {} attempts, exhausted",
            expected.len();
            "{letters:?}"
        );
    }
    client.is_over(1).await;
    worker.stop(b.patience()).await;
}

fn keeps_to(b: &Bench<'_>, planned: Duration, actual: Duration, attempt: u32) {
    let granularity = b.can().delay.granularity;
    let latest = planned + granularity + b.timing.tolerance;
    promise!(
        actual + Duration::from_millis(2) >= planned && actual <= latest,
        "attempt {attempt} starts between {planned:?} and {latest:?} after the failure before it";
        "it started after {actual:?}"
    );
}

fn pinned_job(policy: RetryPolicy) -> NewJob {
    let id: JobId = PINNED.parse().expect("it is a UUID");
    let probe = Probe::failing("pinned");
    let payload = serde_json::value::to_raw_value(&probe).expect("a probe encodes");
    let mut envelope = Envelope::new(id, Probe::NAME, queue_name(Probe::QUEUE), payload);
    envelope.retry = Some(policy);
    NewJob {
        id,
        queue: envelope.queue.clone(),
        body: envelope.encode(),
        delay: Duration::ZERO,
        ordering_key: None,
        unique: None,
    }
}

fn told(title: &str, steps: &[Step]) -> String {
    let mut text = format!("retry trace of {title}: attempt, planned delay, outcome");
    for Step {
        attempt,
        planned,
        outcome,
    } in steps
    {
        let planned = planned.map_or_else(|| "-".into(), |delay| format!("{delay:?}"));
        let _ = write!(text, "\n  {attempt}  {planned:>8}  {outcome}");
    }
    text
}

pub(crate) async fn max_attempts_counts_every_run(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let at_once = RetryPolicy::constant(Duration::ZERO);
    for attempts in [1, 3] {
        let tag = format!("{attempts} attempts");
        let job = Probe::failing(&tag);
        let enqueued = b
            .queue()
            .enqueue(job)
            .max_attempts(attempts)
            .retry(at_once)
            .await;
        promise!(enqueued.is_ok(), "the job is stored"; "{enqueued:?}");
    }
    let worker = b.worker(|w| w);
    worker.reported(4, b.patience()).await;
    for attempts in [1_u32, 3] {
        let runs = b.records.attempts(&format!("{attempts} attempts"));
        let expected: Vec<_> = (1..=attempts).collect();
        promise!(
            runs == expected,
            "a job of {attempts} attempts runs {attempts} times in all";
            "its attempts were {runs:?}"
        );
    }
    b.client().is_over(2).await;
    worker.stop(b.patience()).await;
}

pub(crate) async fn the_jobs_own_schedule_goes_before_the_workers(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let (own, general) = (Duration::from_secs(1), Duration::from_secs(2));
    let fails_once = |tag: &str| Probe::new(tag, [Act::Fail("once".into()), Act::Succeed]);
    let with_own = b
        .queue()
        .enqueue(fails_once("own"))
        .retry(RetryPolicy::constant(own))
        .await;
    promise!(with_own.is_ok(), "the job is stored"; "{with_own:?}");
    b.enqueue(fails_once("general")).await;
    let worker = b.worker(|w| w.retry(RetryPolicy::constant(general).max_attempts(2)));
    let metrics = worker.reported(4, b.patience() + general).await;
    for delay in [own, general] {
        let planned = metrics
            .iter()
            .any(|run| run.outcome == JobOutcome::Retried(delay));
        promise!(planned, "one of the jobs is retried after {delay:?}"; "{metrics:?}");
    }
    worker.stop(b.patience()).await;
}

/// A schedule that has run for ages must neither overflow nor come back early.
pub(crate) async fn the_longest_delay_saturates(h: &dyn Harness) {
    let id: JobId = PINNED.parse().expect("it is a UUID");
    let unbounded = RetryPolicy::exponential(Duration::from_secs(2))
        .max_delay(Duration::MAX)
        .multiplier(1e9);
    let longest = unbounded.delay_after(4_000_000_000, id);
    promise!(
        longest == Duration::from_millis(u64::MAX),
        "the delay after attempt 4,000,000,000 is the longest there is";
        "{longest:?}"
    );
    let bounded = RetryPolicy::exponential(Duration::from_secs(2));
    let ten_minutes = bounded.delay_after(4_000_000_000, id);
    promise!(
        ten_minutes == Duration::from_secs(600),
        "with a bound of ten minutes it is ten minutes";
        "{ten_minutes:?}"
    );

    let b = Bench::new(h).await;
    let client = b.client();
    for delay in [longest, Duration::MAX] {
        client.put("job").await;
        let job = client.take_one().await;
        let verdict = Verdict::Retry {
            delay,
            error: "again".into(),
        };
        client.end(&job.lease, verdict).await;
    }
    client.finds_nothing("both jobs are due in ages").await;
    b.elapse(b.lease() * 2).await;
    client.finds_nothing("both jobs are due in ages").await;
    client.holds("two scheduled jobs", [0, 2, 0, 0]).await;
}
