//! Workers that come back after their lease.

use std::time::Duration;

use goqueue_core::JobOutcome;

use crate::{
    check::promise,
    harness::Harness,
    process::{Arguments, Child, Program},
    tools::{Act, Bench, Probe},
};

/// What a worker could not tell in time is not told over the head of another.
pub(crate) async fn an_ack_held_up_by_a_cut_line_is_refused(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let (line, faults) = h.faulty(&b.store).await;
    b.enqueue(Probe::working("job", b.lease() / 4)).await;
    let worker = b.worker_on(line, |w| w);
    b.records.started("job", 1, b.patience()).await;
    faults.cut().await;
    b.records.ended(1, b.patience()).await;
    b.elapse(b.lease()).await;
    let (client, other) = (b.client(), b.another().await);
    let job = client.take_one().await;
    faults.restore().await;
    let metrics = worker.reported(1, b.patience()).await;
    promise!(
        metrics[0].outcome == JobOutcome::LeaseLost || !b.can().stale_settle,
        "the worker learns that its ack came too late";
        "{metrics:?}"
    );
    other
        .finds_nothing("the job is still held by the one who took it over")
        .await;
    client.ack(&job.lease).await;
    client.is_over(0).await;
    worker.stop(b.patience()).await;
}

/// A process that stands still past its lease must not spoil what another did meanwhile.
pub(crate) async fn a_frozen_worker_comes_back_too_late(h: &dyn Harness) {
    let b = Bench::new(h).await;
    if !b.can().durable {
        return a_worker_without_a_line_comes_back_too_late(&b).await;
    }
    b.enqueue(Probe::new("job", [Act::AnnounceAndWork { millis: 500 }]))
        .await;
    let arguments = Arguments::default()
        .with("store", &b.store)
        .with("lease", &b.lease().as_millis());
    let mut child = Child::start(h.name(), Program::Worker, &arguments);
    child.hear("running job 1", Duration::from_secs(20)).await;
    child.freeze();
    b.elapse(b.lease()).await;
    let (client, other) = (b.client(), b.another().await);
    let job = client.take_one().await;
    child.thaw();
    let outcome = child.hear("outcome ", Duration::from_secs(20)).await;
    promise!(
        outcome == "lease_lost" || !b.can().stale_settle,
        "the thawed worker learns that its lease is lost";
        "its run ended as {outcome}"
    );
    child.kill();
    other
        .finds_nothing("the job is still held by the one who took it over")
        .await;
    client.ack(&job.lease).await;
    client.is_over(0).await;
}

/// The same where no other process can share the store.
async fn a_worker_without_a_line_comes_back_too_late(b: &Bench<'_>) {
    let (line, faults) = b.harness.faulty(&b.store).await;
    b.enqueue(Probe::new("job", [Act::work(b.lease() * 2)]))
        .await;
    let worker = b.worker_on(line, |w| w);
    b.records.started("job", 1, b.patience()).await;
    faults.cut().await;
    b.elapse(b.lease()).await;
    let client = b.client();
    let job = client.take_one().await;
    faults.restore().await;
    let metrics = worker.reported(1, b.patience()).await;
    promise!(
        metrics[0].outcome == JobOutcome::LeaseLost,
        "the worker learns that its lease is lost";
        "{metrics:?}"
    );
    let other = b.another().await;
    other
        .finds_nothing("the job is still held by the one who took it over")
        .await;
    client.ack(&job.lease).await;
    client.is_over(0).await;
    worker.stop(b.patience()).await;
}
