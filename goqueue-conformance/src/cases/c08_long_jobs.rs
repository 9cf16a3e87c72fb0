//! A worker extends the leases of what it runs. When one is lost all the same, the job is told and
//! its late ack refused.

use std::{sync::Arc, time::Duration};

use goqueue_core::JobOutcome;

use crate::{
    check::promise,
    harness::Harness,
    tools::{Act, Bench, Probe, Run},
    wrap::{FaultyDriver, Op, Spy},
};

pub(crate) async fn a_job_longer_than_its_lease_runs_once(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let work = b.lease() * 5;
    b.enqueue(Probe::working("long", work)).await;
    let spies = [
        Spy::on(Arc::clone(&b.driver)),
        Spy::on(h.connect(&b.store).await),
    ];
    let workers = [
        b.worker_on(spies[0].clone(), |w| w),
        b.worker_on(spies[1].clone(), |w| w),
    ];
    b.records.ended(1, work + b.patience()).await;
    b.client().is_over(0).await;
    b.elapse(b.lease() * 2).await;
    promise!(
        b.records.attempts("long") == [1],
        "a job of five leases runs once while its worker lives";
        "the runs were:{}",
        b.records.told()
    );
    let extensions: usize = spies.iter().map(|spy| spy.0.count(Op::Extend)).sum();
    promise!(extensions >= 3, "its lease is extended at least three times"; "{extensions}");
    let acks: usize = spies.iter().map(|spy| spy.0.acks()).sum();
    promise!(acks == 1, "it is acked once"; "{acks} times");
    for worker in workers {
        worker.stop(b.patience()).await;
    }
}

pub(crate) async fn many_long_jobs_are_all_kept(h: &dyn Harness) {
    const JOBS: usize = 50;
    let b = Bench::new(h).await;
    let work = b.lease() * 2;
    for n in 0..JOBS {
        b.enqueue(Probe::working(format!("long {n}"), work)).await;
    }
    let first = b.worker(|w| w.concurrency(JOBS));
    let second = b.worker_on(h.connect(&b.store).await, |w| w.concurrency(JOBS));
    b.records.ended(JOBS, work + b.patience()).await;
    b.client().is_over(0).await;
    let runs = b.records.runs().len();
    promise!(runs == JOBS, "each of {JOBS} jobs runs once"; "{runs} runs:{}", b.records.told());
    first.stop(b.patience()).await;
    second.stop(b.patience()).await;
}

pub(crate) async fn a_failed_extension_is_tried_again(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let line = FaultyDriver::new(Arc::clone(&b.driver));
    let faults = line.faults();
    b.enqueue(Probe::working("long", b.lease() * 3)).await;
    let worker = b.worker_on(Arc::new(line), |w| w);
    b.records.started("long", 1, b.patience()).await;
    for op in [Op::Extend, Op::Extend] {
        faults.fail(op, 1);
        b.elapse(b.lease()).await;
    }
    faults.lose(Op::Extend, 1);
    let metrics = worker.reported(1, b.lease() * 3 + b.patience()).await;
    promise!(
        metrics[0].outcome == JobOutcome::Succeeded && b.records.attempts("long") == [1],
        "one extension that fails costs nothing";
        "{metrics:?}; the runs were:{}",
        b.records.told()
    );
    b.client().is_over(0).await;
    worker.stop(b.patience()).await;
}

pub(crate) async fn a_lost_lease_tells_the_job(h: &dyn Harness) {
    loses_its_lease(h, Act::UntilCancelled).await;
}

pub(crate) async fn a_late_ack_is_refused(h: &dyn Harness) {
    loses_its_lease(h, Act::DoneWhenCancelled).await;
}

/// A worker that cannot extend a lease tells the job in time; what the job answers after that is
/// not recorded, and the job belongs to the next worker.
async fn loses_its_lease(h: &dyn Harness, act: Act) {
    let b = Bench::new(h).await;
    let line = FaultyDriver::new(Arc::clone(&b.driver));
    let faults = line.faults();
    b.enqueue(Probe::new("job", [act, Act::work(b.lease() / 2)]))
        .await;
    // One slot and no further reservation, so that it does not get the job again itself.
    let first = b.worker_on(Arc::new(line), |w| w.concurrency(1));
    b.records.started("job", 1, b.patience()).await;
    faults.fail(Op::Reserve, usize::MAX);
    // What it says of the job still arrives, except for the extensions.
    faults.slow(Op::Extend, Duration::MAX);
    let second = b.worker_on(h.connect(&b.store).await, |w| w);
    b.records.started("job", 2, b.patience()).await;
    let told = |runs: &[Run]| {
        runs[0]
            .end
            .is_some_and(|end| end.was_cancelled && !end.is_dropped)
    };
    b.records
        .until(
            "the run whose lease is lost is told to stop",
            b.patience(),
            told,
        )
        .await;
    let run = &b.records.of("job")[0];
    let lasted = run.end.map_or(Duration::MAX, |end| end.at - run.started);
    let latest = b.lease() + b.timing.tolerance;
    promise!(
        lasted <= latest,
        "it is told when its lease ends, after {latest:?} at the latest: another may have the job";
        "it was told after {lasted:?}"
    );
    let metrics = first.reported(1, b.patience()).await;
    promise!(
        metrics[0].outcome == JobOutcome::LeaseLost,
        "the first worker reports the run as lost, whatever it answered";
        "{metrics:?}"
    );
    b.records.ended(2, b.patience()).await;
    b.client().is_over(0).await;
    b.elapse(b.lease() * 2).await;
    promise!(
        b.records.attempts("job") == [1, 2],
        "the job runs again once, as attempt 2";
        "the runs were:{}",
        b.records.told()
    );
    let metrics = second.reported(1, b.patience()).await;
    promise!(
        metrics[0].outcome == JobOutcome::Succeeded && metrics[0].attempt == 2,
        "the second worker's run counts";
        "{metrics:?}"
    );
    faults.slow(Op::Extend, Duration::ZERO);
    first.stop(b.patience()).await;
    second.stop(b.patience()).await;
}

pub(crate) async fn a_deaf_job_is_dropped_after_its_lease(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let line = FaultyDriver::new(Arc::clone(&b.driver));
    let faults = line.faults();
    faults.fail(Op::Extend, usize::MAX);
    b.enqueue(Probe::new("deaf", [Act::Endless, Act::Succeed]))
        .await;
    let worker = b.worker_on(Arc::new(line), |w| w.concurrency(1));
    b.records.started("deaf", 1, b.patience()).await;
    let dropped = |runs: &[Run]| runs[0].end.is_some_and(|end| end.is_dropped);
    let latest = b.lease() + Duration::from_millis(500) + b.timing.tolerance;
    b.records
        .until("a job that does not listen is dropped", latest, dropped)
        .await;
    // Its slot is free again: the same worker can run it.
    b.records.started("deaf", 2, b.patience()).await;
    b.records.ended(1, b.patience()).await;
    b.client().is_over(0).await;
    worker.stop(b.patience()).await;
}
