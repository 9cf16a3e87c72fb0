//! Rate limit and concurrency limit: what is over the limit comes back without an attempt spent.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;

use std::time::Duration;

use common::{Act, SECOND, memory, run, serve};
use goqueue_core::Queue;
use goqueue_middleware::{ConcurrencyLimitLayer, RateLimitLayer};

/// Enqueues so many jobs of a customer.
async fn enqueue(queue: &Queue, customer: Option<&str>, jobs: [Act; 3]) {
    let mut enqueue = queue.enqueue_all(jobs).max_attempts(1);
    if let Some(customer) = customer {
        enqueue = enqueue.header("customer", customer);
    }
    enqueue.await.unwrap();
}

fn customer(request: &goqueue_core::middleware::JobRequest) -> Option<String> {
    request.headers().get("customer").cloned()
}

#[tokio::test(start_paused = true)]
async fn jobs_over_the_rate_run_later_and_spend_no_attempt() {
    let queue = memory();
    // One attempt each: whatever spent one would leave a dead job.
    let jobs = [(); 7].map(|()| Act::Succeed);
    queue.enqueue_all(jobs).max_attempts(1).await.unwrap();
    let layer = RateLimitLayer::new(2, 10 * SECOND);
    let seen = serve(&queue, 100, |worker| worker.layer(layer)).await;
    assert_eq!(seen.count("succeeded"), 7);
    assert_eq!(seen.attempts(), [1; 7]);
    let starts: Vec<_> = seen.starts().iter().map(|at| at / 1000).collect();
    for three in starts.windows(3) {
        assert!(three[2] - three[0] >= 10, "{starts:?}");
    }
    // And no later than the limit asks for: each at its turn.
    assert!(starts[6] <= 35, "{starts:?}");
    // Five were sent away, hardly any twice.
    assert!(
        (5..=7).contains(&seen.count("snoozed")),
        "{:?}",
        seen.ends()
    );
}

#[tokio::test(start_paused = true)]
async fn each_key_has_a_rate_of_its_own_and_none_has_none() {
    let queue = memory();
    for customer in [Some("a"), Some("b"), None] {
        enqueue(&queue, customer, [(); 3].map(|()| Act::Succeed)).await;
    }
    let layer = RateLimitLayer::new(1, 60 * SECOND).by(customer);
    let seen = serve(&queue, 30, |worker| worker.layer(layer)).await;
    assert_eq!(seen.count("succeeded"), 1 + 1 + 3);
    assert_eq!(seen.count("snoozed"), 2 + 2);
}

#[tokio::test(start_paused = true)]
async fn all_names_together_share_a_rate() {
    let seen = run([(); 3].map(|()| Act::Succeed), |worker| {
        worker.layer(RateLimitLayer::new(1, 7200 * SECOND).all_together())
    })
    .await;
    assert_eq!(seen.count("succeeded"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_passes_the_answer_on() {
    let seen = run([Act::Permanent], |worker| {
        worker.layer(RateLimitLayer::new(1, SECOND))
    })
    .await;
    assert_eq!(seen.ends()[0].1.as_deref(), Some("no such user"));
    assert_eq!(seen.count("dead"), 1);
}

#[tokio::test(start_paused = true)]
async fn no_more_jobs_of_a_key_run_at_once() {
    let queue = memory();
    for customer in [Some("a"), Some("b"), None] {
        enqueue(&queue, customer, [(); 3].map(|()| Act::Sleep(10))).await;
    }
    let layer = ConcurrencyLimitLayer::new(1)
        .by(customer)
        .snooze_for(4 * SECOND);
    let seen = serve(&queue, 100, |worker| worker.layer(layer)).await;
    assert_eq!((seen.count("succeeded"), seen.attempts()), (9, vec![1; 9]));
    let starts: Vec<_> = seen.starts().iter().map(|at| at / 1000).collect();
    // Those without a customer at once; of the others one at a time, when they ask again.
    assert_eq!(starts, [0, 0, 0, 0, 0, 12, 12, 24, 24]);
}

#[tokio::test(start_paused = true)]
async fn a_place_is_free_again_whatever_way_a_run_ends() {
    for (act, timeout) in [
        (Act::Fail, None),
        (Act::Panic, None),
        (Act::PanicLater, None),
        (Act::Hang, Some(SECOND)),
    ] {
        let queue = memory();
        let mut first = queue.enqueue(act.clone()).max_attempts(1);
        if let Some(timeout) = timeout {
            first = first.timeout(timeout);
        }
        first.await.unwrap();
        let later = queue.enqueue(Act::Succeed).delay(5 * SECOND);
        later.await.unwrap();
        let layer = ConcurrencyLimitLayer::new(1);
        let seen = serve(&queue, 60, |worker| worker.layer(layer)).await;
        assert_eq!(
            (seen.count("dead"), seen.count("succeeded")),
            (1, 1),
            "{act:?}"
        );
        assert_eq!(seen.count("snoozed"), 0, "{act:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_none_is_a_limit_of_one() {
    let seen = run([(); 2].map(|()| Act::Sleep(1)), |worker| {
        worker
            .layer(ConcurrencyLimitLayer::new(0).snooze_for(Duration::from_millis(1500)))
            .layer(RateLimitLayer::new(0, SECOND))
    })
    .await;
    assert_eq!(seen.starts(), [0, 1500]);
}

#[tokio::test(start_paused = true)]
async fn for_ever_is_a_period_too() {
    let layer = RateLimitLayer::new(1, Duration::MAX);
    let seen = run([Act::Succeed, Act::Succeed], |worker| worker.layer(layer)).await;
    assert_eq!(seen.starts().len(), 1);
    assert_eq!(seen.count("retried"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_place_is_free_again_when_the_worker_stops() {
    let queue = memory();
    let layer = ConcurrencyLimitLayer::new(1);
    queue.enqueue(Act::Hang).await.unwrap();
    let stopped = serve(&queue, 1, |worker| {
        worker.shutdown_grace(SECOND).layer(layer.clone())
    })
    .await;
    assert_eq!(stopped.count("released"), 1);
    let inspect = queue.inspect().unwrap();
    inspect
        .purge(&"default".to_owned().try_into().unwrap())
        .await
        .unwrap();
    queue.enqueue(Act::Succeed).await.unwrap();
    let seen = serve(&queue, 1, |worker| worker.layer(layer)).await;
    assert_eq!((seen.count("succeeded"), seen.count("snoozed")), (1, 0));
}
