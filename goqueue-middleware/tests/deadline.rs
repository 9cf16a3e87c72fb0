//! Jobs that nobody needs any more.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;

use std::time::{Duration, SystemTime};

use common::{Act, SECOND, Seen, memory, serve};
use goqueue_core::{Envelope, JobOutcome, Queue, dead_letter::DeadReason, queue::Enqueue};
use goqueue_middleware::{DeadlineLayer, ExpireExt as _, ExpiryHook, deadline::EXPIRES_AT};

async fn run(enqueue: impl FnOnce(&Queue) -> Enqueue, layer: DeadlineLayer) -> Seen {
    let queue = memory();
    enqueue(&queue).await.unwrap();
    serve(&queue, 60, |worker| worker.layer(layer)).await
}

fn millis_of(enqueue: Enqueue) -> Option<u64> {
    let envelope = Envelope::decode(&enqueue.into_new_job().unwrap().body).unwrap();
    let header = envelope.headers.get(EXPIRES_AT)?;
    Some(header.parse().unwrap())
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap().as_millis().try_into().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_job_runs_until_its_time_has_passed() {
    let new = DeadlineLayer::new;
    let seen = run(|queue| queue.enqueue(Act::Succeed), new()).await;
    assert_eq!(seen.count("succeeded"), 1, "it has no time");

    let seen = run(
        |queue| queue.enqueue(Act::Succeed).expires_in(3600 * SECOND),
        new(),
    )
    .await;
    assert_eq!(seen.count("succeeded"), 1);

    let past = SystemTime::now() - 3600 * SECOND;
    let seen = run(|queue| queue.enqueue(Act::Succeed).expires_at(past), new()).await;
    assert!(seen.starts().is_empty());
    let [(outcome, reason)] = seen.ends().try_into().unwrap();
    assert_eq!(outcome, JobOutcome::Discarded);
    assert!(reason.unwrap().starts_with("expired 3600."));
}

#[tokio::test(start_paused = true)]
async fn expired_jobs_may_be_kept() {
    let past = SystemTime::now() - 10 * SECOND;
    let layer = DeadlineLayer::new().dead_letter();
    let seen = run(|queue| queue.enqueue(Act::Succeed).expires_at(past), layer).await;
    let [(outcome, _)] = seen.ends().try_into().unwrap();
    assert_eq!(outcome, JobOutcome::Dead(DeadReason::Permanent));
    assert!(seen.starts().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_header_that_cannot_be_read_is_no_reason_to_run_or_to_drop() {
    for header in ["tomorrow", "-1", "", "99999999999999999999999"] {
        let seen = run(
            |queue| queue.enqueue(Act::Succeed).header(EXPIRES_AT, header),
            DeadlineLayer::new(),
        )
        .await;
        let [(outcome, error)] = seen.ends().try_into().unwrap();
        assert_eq!(outcome, JobOutcome::Dead(DeadReason::Permanent));
        assert_eq!(
            error.unwrap(),
            format!(
                "invalid header `goqueue-expires-at: {header}`: allowed are whole milliseconds \
                 since the Unix epoch"
            )
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_and_a_retry_expire_as_well() {
    let queue = memory();
    let past = SystemTime::now() - SECOND;
    let batch = queue.enqueue_all([Act::Succeed, Act::Fail]);
    batch.expires_at(past).await.unwrap();
    let seen = serve(&queue, 60, |worker| worker.layer(DeadlineLayer::new())).await;
    assert_eq!(seen.count("discarded"), 2);
}

#[test]
fn a_hook_gives_a_time_to_jobs_that_have_none() {
    let queue = memory().with_hook(ExpiryHook::new(60 * SECOND));
    let before = now();
    let plain = millis_of(queue.enqueue(Act::Succeed)).unwrap();
    let delayed = millis_of(queue.enqueue(Act::Succeed).delay(3600 * SECOND)).unwrap();
    let own = SystemTime::UNIX_EPOCH + Duration::from_millis(1234);
    let own = millis_of(queue.enqueue(Act::Succeed).expires_at(own));
    let took = now() - before;
    assert!((60_000..=60_000 + took).contains(&(plain - before)));
    assert!((3_660_000..=3_660_000 + took).contains(&(delayed - before)));
    assert_eq!(own, Some(1234));
    assert_eq!(millis_of(memory().enqueue(Act::Succeed)), None);
}
