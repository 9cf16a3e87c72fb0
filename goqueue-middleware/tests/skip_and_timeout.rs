//! Answers in a job's place, and a limit to how long a run may take.

mod common;

use std::time::Duration;

use common::{Act, SECOND, run};
use goqueue_core::{JobError, JobOutcome, dead_letter::DeadReason};
use goqueue_middleware::{SkipLayer, TimeoutLayer};

#[tokio::test(start_paused = true)]
async fn a_condition_discards_jobs_before_they_run() {
    let seen = run([Act::Succeed, Act::Succeed], |worker| {
        worker.layer(SkipLayer::when(|job| job.name() == "act", "not today"))
    })
    .await;
    let skipped = (JobOutcome::Discarded, Some("not today".to_owned()));
    assert_eq!(seen.ends(), [skipped.clone(), skipped]);
    assert!(seen.starts().is_empty());

    let seen = run([Act::Succeed], |worker| {
        worker.layer(SkipLayer::when(|job| job.name() == "other", "not today"))
    })
    .await;
    assert_eq!(seen.ends(), [(JobOutcome::Succeeded, None)]);
}

#[tokio::test(start_paused = true)]
async fn a_condition_may_give_any_answer() {
    let start = tokio::time::Instant::now();
    let seen = run([Act::Succeed], |worker| {
        worker.layer(SkipLayer::new(move |_| {
            (start.elapsed() < 5 * SECOND).then(|| JobError::snooze(5 * SECOND))
        }))
    })
    .await;
    assert_eq!(
        seen.ends(),
        [
            (JobOutcome::Snoozed(5 * SECOND), None),
            (JobOutcome::Succeeded, None)
        ]
    );
    assert_eq!((seen.starts(), seen.attempts()), (vec![5000], vec![1]));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_takes_too_long_is_a_failure() {
    let seen = run([Act::Sleep(2), Act::Sleep(4)], |worker| {
        worker.layer(TimeoutLayer::new(3 * SECOND))
    })
    .await;
    let late = Some("timed out after 3s".to_owned());
    assert_eq!(
        seen.ends(),
        [
            (JobOutcome::Succeeded, None),
            (JobOutcome::Retried(Duration::ZERO), late.clone()),
            (JobOutcome::Dead(DeadReason::Exhausted), late),
        ]
    );
    assert_eq!(seen.starts(), [0, 0, 3000]);
}

#[tokio::test(start_paused = true)]
async fn a_job_type_may_have_a_time_of_its_own() {
    let seen = run([Act::Sleep(4)], |worker| {
        let layer = TimeoutLayer::new(3 * SECOND);
        worker.layer(layer.for_job("act", 5 * SECOND).for_job("other", SECOND))
    })
    .await;
    assert_eq!(seen.ends(), [(JobOutcome::Succeeded, None)]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_time_passes_unchanged() {
    let seen = run([Act::RetryIn(7)], |worker| {
        worker.layer(TimeoutLayer::new(SECOND))
    })
    .await;
    let slow_down = Some("slow down".to_owned());
    assert_eq!(seen.ends()[0], (JobOutcome::Retried(7 * SECOND), slow_down));
}
