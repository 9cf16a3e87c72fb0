//! The layers together.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;

use common::{Act, SECOND, memory, run, serve};
use goqueue_core::JobOutcome;
use goqueue_middleware::{
    CircuitBreakerLayer, ConcurrencyLimitLayer, ExpireExt as _, RateLimitLayer, SkipLayer,
    TimeoutLayer, default_stack,
};

#[tokio::test(start_paused = true)]
async fn the_default_stack_catches_panics_and_heeds_deadlines() {
    let seen = run([Act::PanicLater, Act::Succeed], default_stack).await;
    let error = seen.ends().into_iter().find_map(|end| end.1).unwrap();
    assert!(
        error.starts_with("panicked: a value (goqueue-middleware/tests/common/mod.rs:"),
        "{error}"
    );
    assert_eq!(seen.count("succeeded"), 1);

    let queue = memory();
    let past = std::time::SystemTime::UNIX_EPOCH;
    queue.enqueue(Act::Succeed).expires_at(past).await.unwrap();
    let seen = serve(&queue, 10, default_stack).await;
    assert_eq!(seen.count("discarded"), 1);
}

#[tokio::test(start_paused = true)]
async fn every_answer_passes_through_all_layers_unchanged() {
    let jobs = [
        Act::Succeed,
        Act::RetryIn(7),
        Act::Permanent,
        Act::Discard,
        Act::Snooze,
    ];
    let seen = run(jobs, |worker| {
        default_stack(worker)
            .layer(SkipLayer::when(|_| false, "never"))
            .layer(CircuitBreakerLayer::new(100, SECOND))
            .layer(ConcurrencyLimitLayer::new(100))
            .layer(RateLimitLayer::new(100, SECOND))
            .layer(TimeoutLayer::new(60 * SECOND))
    })
    .await;
    let counts = ["succeeded", "retried", "dead", "discarded", "snoozed"];
    assert_eq!(counts.map(|outcome| seen.count(outcome)), [2, 1, 2, 1, 1]);
    let later = JobOutcome::Retried(7 * SECOND);
    assert!(seen.ends().contains(&(later, Some("slow down".into()))));
}
