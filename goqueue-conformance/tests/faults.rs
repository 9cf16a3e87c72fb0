//! A disturbed line does what it says.

use std::{sync::Arc, time::Duration};

use goqueue_conformance::{
    Faults, FaultyDriver, SpecDriver, Spy,
    wrap::{Call, FaultControl, Op},
};
use goqueue_core::{
    Error, JobId, QueueName,
    driver::{Driver, NewJob, PushOutcome, QueueShare, ReserveRequest, Settlement, Verdict},
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

fn queue() -> QueueName {
    QueueName::new("work").expect("a valid name")
}

fn job() -> NewJob {
    NewJob {
        id: JobId::new(),
        queue: queue(),
        body: "job".into(),
        delay: Duration::ZERO,
        ordering_key: None,
        unique: None,
    }
}

fn request(wait: Duration) -> ReserveRequest {
    ReserveRequest {
        queues: vec![QueueShare {
            queue: queue(),
            share: 9,
        }],
        max: 9,
        lease: Duration::from_secs(10),
        wait,
        cancel: CancellationToken::new(),
    }
}

fn line() -> (Arc<SpecDriver>, FaultyDriver, FaultControl) {
    let backend = Arc::new(SpecDriver::new());
    let line = FaultyDriver::new(backend.clone());
    let control = line.faults();
    (backend, line, control)
}

async fn stored(backend: &SpecDriver) -> u64 {
    let inspect = backend.inspect().expect("the model can be inspected");
    let stats = inspect.stats(&queue()).await.expect("it counts");
    stats.ready + stats.running
}

#[tokio::test]
async fn a_call_that_fails_never_arrives() {
    let (backend, line, control) = line();
    control.fail_next(1).await;
    let error = line.push(vec![job()]).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert_eq!(stored(&backend).await, 0);
    assert!(matches!(
        line.push(vec![job()]).await.unwrap()[..],
        [PushOutcome::Stored]
    ));
    assert_eq!(stored(&backend).await, 1);
}

#[tokio::test]
async fn a_lost_reply_means_that_the_backend_acted() {
    let (backend, line, control) = line();
    control.lose_replies(1).await;
    assert!(line.push(vec![job()]).await.is_err());
    assert_eq!(stored(&backend).await, 1);
    line.ping().await.unwrap();
}

#[tokio::test]
async fn one_kind_of_call_can_be_picked_out() {
    let (_, line, control) = line();
    control.fail(Op::Settle, 1);
    line.push(vec![job()]).await.unwrap();
    let mut jobs = line.reserve(request(Duration::ZERO)).await.unwrap();
    let lease = jobs.remove(0).lease;
    let ack = || {
        vec![Settlement {
            lease: lease.clone(),
            verdict: Verdict::Ack,
        }]
    };
    let error = line.settle(ack()).await.unwrap_err();
    assert!(
        matches!(
            error,
            Error::Backend {
                operation: "settle",
                ..
            }
        ),
        "{error}"
    );
    line.settle(ack()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cut_ends_a_wait_and_loses_its_reply() {
    let (backend, line, control) = line();
    let since = Instant::now();
    let (reply, ()) = tokio::join!(line.reserve(request(Duration::from_secs(60))), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        control.cut().await;
    });
    assert!(reply.is_err());
    assert_eq!(since.elapsed(), Duration::from_secs(1));
    backend.push(vec![job()]).await.unwrap();
    assert!(line.reserve(request(Duration::ZERO)).await.is_err());
    control.restore().await;
    assert_eq!(
        line.reserve(request(Duration::ZERO)).await.unwrap().len(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn a_slow_line_takes_its_time() {
    let (_, line, control) = line();
    control.slow(Op::Ping, Duration::from_secs(3));
    let since = Instant::now();
    line.ping().await.unwrap();
    assert_eq!(since.elapsed(), Duration::from_secs(3));
    control.slow(Op::Ping, Duration::MAX);
    assert!(
        tokio::time::timeout(Duration::from_secs(3600), line.ping())
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_spy_notes_calls_that_fail_too() {
    let (_, line, control) = line();
    let spy = Spy::on(Arc::new(line));
    control.fail_next(1).await;
    assert!(spy.push(vec![job(), job()]).await.is_err());
    spy.ping().await.unwrap();
    let calls = spy.0.calls();
    assert!(matches!(&calls[..], [Call::Push(sizes), Call::Ping] if sizes[..] == [3, 3]));
    assert_eq!(
        (spy.0.count(Op::Push), spy.0.count(Op::Settle), spy.0.acks()),
        (1, 0, 0)
    );
}
