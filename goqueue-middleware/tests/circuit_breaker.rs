//! The circuit breaker around the jobs of a real worker.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;

use std::time::Duration;

use common::{Act, SECOND, memory, run, serve};
use goqueue_middleware::CircuitBreakerLayer;

fn seconds(millis: &[u128]) -> Vec<u128> {
    millis.iter().map(|at| at / 1000).collect()
}

#[tokio::test(start_paused = true)]
async fn after_failures_in_a_row_jobs_wait_and_a_trial_lets_them_run() {
    let queue = memory();
    let jobs = [(); 6].map(|()| Act::FailUntil(25));
    queue.enqueue_all(jobs).max_attempts(20).await.unwrap();
    let layer = CircuitBreakerLayer::new(3, 10 * SECOND);
    // One at a time, so that failures come in a row.
    let seen = serve(&queue, 100, |worker| worker.concurrency(1).layer(layer)).await;
    let starts = seconds(&seen.starts());
    // Three failures, a trial after 10 s and after 20 s, and one after 30 s that succeeds.
    assert_eq!(starts[..6], [0, 0, 0, 10, 20, 30]);
    assert_eq!(seen.count("succeeded"), 6);
    assert_eq!(seen.count("retried"), 5);
    assert!(starts[10] <= 42, "{starts:?}");
}

#[tokio::test(start_paused = true)]
async fn waiting_spends_no_attempt() {
    let queue = memory();
    // The first two fail for good and open the circuit.
    let bad = queue.enqueue_all([Act::Fail, Act::Fail]).max_attempts(1);
    bad.await.unwrap();
    let good = queue.enqueue(Act::Succeed).max_attempts(1);
    good.await.unwrap();
    let layer = CircuitBreakerLayer::new(2, 10 * SECOND);
    let seen = serve(&queue, 60, |worker| worker.concurrency(1).layer(layer)).await;
    assert_eq!(seconds(&seen.starts()), [0, 0, 10]);
    assert_eq!(seen.attempts(), [1, 1, 1]);
    assert_eq!(seen.count("succeeded"), 1);
    assert_eq!(seen.count("snoozed"), 1);
}

#[tokio::test(start_paused = true)]
async fn answers_about_the_job_do_not_open_it() {
    let jobs = [
        Act::Permanent,
        Act::Discard,
        Act::Permanent,
        Act::Snooze,
        Act::Succeed,
    ];
    let seen = run(jobs, |worker| {
        worker
            .concurrency(1)
            .layer(CircuitBreakerLayer::new(1, 3000 * SECOND))
    })
    .await;
    assert_eq!(seen.count("succeeded"), 2);
    assert_eq!(seen.count("snoozed"), 1, "{:?}", seen.ends());
}

#[tokio::test(start_paused = true)]
async fn panics_timeouts_and_later_retries_are_failures() {
    for act in [Act::Panic, Act::PanicLater, Act::Hang, Act::RetryIn(3000)] {
        let queue = memory();
        let first = queue
            .enqueue(act.clone())
            .timeout(2 * SECOND)
            .max_attempts(1);
        first.await.unwrap();
        let next = queue.enqueue(Act::Succeed).delay(5 * SECOND);
        next.await.unwrap();
        let layer = CircuitBreakerLayer::new(1, 1000 * SECOND);
        let seen = serve(&queue, 60, |worker| worker.layer(layer)).await;
        assert_eq!(seen.starts().len(), 1, "{act:?}");
        assert_eq!(seen.count("snoozed"), 1, "{act:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_key_has_a_circuit_of_its_own_and_none_has_none() {
    let queue = memory();
    for (host, act) in [
        ("down", Act::Fail),
        ("up", Act::Succeed),
        ("down", Act::Succeed),
    ] {
        let enqueue = queue.enqueue(act).header("host", host).max_attempts(1);
        enqueue.await.unwrap();
    }
    let bare = queue.enqueue_all([Act::Fail, Act::Fail, Act::Succeed]);
    bare.max_attempts(1).await.unwrap();
    let layer = CircuitBreakerLayer::new(1, 1000 * SECOND)
        .by(|request| request.headers().get("host").cloned());
    let seen = serve(&queue, 60, |worker| worker.concurrency(1).layer(layer)).await;
    // `up`, and the one without a host; `down` waits.
    assert_eq!(seen.count("succeeded"), 2);
    assert_eq!(seen.count("snoozed"), 1);
    assert_eq!(seen.count("dead"), 3);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_told_to_stop_says_nothing() {
    let queue = memory();
    let layer = CircuitBreakerLayer::new(1, 1000 * SECOND);
    queue.enqueue(Act::Hang).await.unwrap();
    // The grace ends, the handler is dropped and its job given back.
    let first = layer.clone();
    let stopped = serve(&queue, 1, |worker| {
        worker.shutdown_grace(SECOND).layer(first)
    })
    .await;
    assert_eq!(stopped.count("released"), 1);
    queue.enqueue(Act::Succeed).await.unwrap();
    let seen = serve(&queue, 1, |worker| {
        worker.shutdown_grace(SECOND).layer(layer)
    })
    .await;
    assert_eq!(seen.count("succeeded"), 1);
}

#[tokio::test(start_paused = true)]
async fn of_many_that_wait_one_is_the_trial() {
    let queue = memory();
    queue.enqueue(Act::Fail).max_attempts(1).await.unwrap();
    let layer = CircuitBreakerLayer::new(1, 10 * SECOND);
    serve(&queue, 1, |worker| worker.layer(layer.clone())).await;
    // All of them come back in the same moment, fifty at a time, and run for a minute each.
    queue.enqueue_all(vec![Act::Sleep(60); 200]).await.unwrap();
    let seen = serve(&queue, 300, |worker| worker.layer(layer)).await;
    let starts = seconds(&seen.starts());
    assert_eq!((starts[0], starts.len()), (9, 200), "{starts:?}");
    assert!(starts[1] >= 69, "one runs until its end: {starts:?}");
    assert!(seen.attempts().iter().all(|attempt| *attempt == 1));
}

#[tokio::test(start_paused = true)]
async fn failures_from_before_it_opened_do_not_open_it_again() {
    let queue = memory();
    // Two that hang for a minute, one that fails at once, and one that closes the circuit again.
    let slow = queue
        .enqueue_all([Act::Hang, Act::Hang])
        .timeout(60 * SECOND);
    slow.max_attempts(1).await.unwrap();
    let quick = queue.enqueue(Act::Fail).max_attempts(1).delay(SECOND);
    quick.await.unwrap();
    queue
        .enqueue(Act::Succeed)
        .delay(20 * SECOND)
        .await
        .unwrap();
    let late = queue.enqueue(Act::Succeed).delay(61 * SECOND);
    late.await.unwrap();
    let layer = CircuitBreakerLayer::new(1, 10 * SECOND);
    let seen = serve(&queue, 100, |worker| worker.layer(layer)).await;
    assert_eq!(seconds(&seen.starts()), [0, 0, 1, 20, 61]);
    assert_eq!((seen.count("dead"), seen.count("succeeded")), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn for_ever_is_a_time_too() {
    let layer = CircuitBreakerLayer::new(1, Duration::MAX);
    let seen = run([Act::Fail, Act::Succeed], |worker| {
        worker.concurrency(1).layer(layer)
    })
    .await;
    assert_eq!((seen.count("retried"), seen.count("succeeded")), (1, 0));
    assert_eq!(seen.count("snoozed"), 2);
}
