//! On the signal a worker reserves nothing more, lets running jobs end, gives back what is left,
//! and says what it did.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use goqueue_core::{
    Report, Result,
    driver::{Driver, ReserveRequest, Reserved},
};
use tokio::time::Instant;

use crate::{
    check::promise,
    harness::Harness,
    process::{Arguments, Child, Program},
    tools::{Act, Bench, Probe},
    wrap::{Around, Call, FaultyDriver, Op, Spy, Wrapped},
};

pub(crate) async fn running_jobs_end_and_the_rest_stays(h: &dyn Harness) {
    let b = Bench::new(h).await;
    for n in 0..10 {
        b.enqueue(Probe::working(format!("job {n}"), Duration::from_secs(1)))
            .await;
    }
    let worker = b.worker(|w| w.concurrency(2).shutdown_grace(Duration::from_secs(5)));
    b.records
        .until("two jobs run", b.patience(), |runs| runs.len() == 2)
        .await;
    b.elapse(Duration::from_millis(300)).await;
    let report = worker.stop(Duration::from_secs(3)).await;
    reports(&report, 2, 0, 0);
    let dropped = b
        .records
        .runs()
        .iter()
        .filter(|run| run.end.is_none_or(|e| e.is_dropped))
        .count();
    promise!(
        dropped == 0 && b.records.runs().len() == 2,
        "the two running jobs come to their end and no other is started";
        "the runs were:{}",
        b.records.told()
    );
    let since = Instant::now();
    let jobs = b.client().take(8).await;
    promise!(
        since.elapsed() < Duration::from_secs(1),
        "the other eight can be reserved within a second";
        "it took {:?}",
        since.elapsed()
    );
    have_attempt_one(&b, &jobs);
}

pub(crate) async fn a_stop_ends_a_long_poll(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let worker = b.worker(|w| w);
    b.elapse(Duration::from_millis(500)).await;
    let report = worker.stop(Duration::from_secs(2)).await;
    reports(&report, 0, 0, 0);
    let client = b.client();
    client.put("after").await;
    let job = client.take_one().await;
    promise!(
        job.attempt == 1,
        "the stopped worker takes nothing with it: a new job is there at once";
        "{job:?}"
    );
}

pub(crate) async fn unfinished_jobs_are_given_back_after_the_grace(h: &dyn Harness) {
    let b = Bench::new(h).await;
    for n in 0..6 {
        b.enqueue(Probe::new(format!("job {n}"), [Act::UntilCancelled]))
            .await;
    }
    let grace = b.lease() / 2;
    let worker = b.worker(|w| w.concurrency(3).shutdown_grace(grace));
    b.records
        .until("three jobs run", b.patience(), |runs| runs.len() == 3)
        .await;
    let since = Instant::now();
    let report = worker.stop(grace + b.timing.tolerance).await;
    let took = since.elapsed();
    promise!(took >= grace, "running jobs have {grace:?} to end"; "they had {took:?}");
    reports(&report, 0, 3, 0);
    let told = b
        .records
        .runs()
        .iter()
        .filter(|r| r.end.is_some_and(|e| e.was_cancelled))
        .count();
    promise!(told == 3, "all three are told to stop"; "the runs were:{}", b.records.told());
    let jobs = b.client().take(6).await;
    have_attempt_one(&b, &jobs);
}

pub(crate) async fn a_deaf_job_is_given_back_too(h: &dyn Harness) {
    let b = Bench::new(h).await;
    b.enqueue(Probe::new("deaf", [Act::Endless])).await;
    let grace = b.lease() / 4;
    let worker = b.worker(|w| w.shutdown_grace(grace));
    b.records.started("deaf", 1, b.patience()).await;
    let noticing = Duration::from_millis(500);
    let report = worker.stop(grace + noticing + b.timing.tolerance).await;
    reports(&report, 0, 1, 0);
    let run = &b.records.runs()[0];
    promise!(
        run.end.is_some_and(|end| end.is_dropped),
        "a job that does not listen is dropped";
        "the runs were:{}",
        b.records.told()
    );
    let jobs = b.client().take(1).await;
    have_attempt_one(&b, &jobs);
}

pub(crate) async fn a_job_may_end_when_it_is_told_to_stop(h: &dyn Harness) {
    let b = Bench::new(h).await;
    b.enqueue(Probe::new("job", [Act::DoneWhenCancelled])).await;
    let grace = b.lease() / 4;
    let worker = b.worker(|w| w.shutdown_grace(grace));
    b.records.started("job", 1, b.patience()).await;
    let report = worker.stop(grace + b.patience()).await;
    reports(&report, 1, 0, 0);
    b.client().is_over(0).await;
}

pub(crate) async fn nothing_is_reserved_after_the_signal(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let spy = Spy::on(Arc::clone(&b.driver));
    b.enqueue(Probe::working("running", b.lease() / 2)).await;
    let worker = b.worker_on(spy.clone(), |w| w);
    b.records.started("running", 1, b.patience()).await;
    worker.signal();
    // The long poll that is under way may still end.
    b.elapse(b.lease() / 10).await;
    let before = spy.0.count(Op::Reserve);
    let late = b.enqueue(Probe::succeeding("late")).await;
    let report = worker.stop(b.patience()).await;
    reports(&report, 1, 0, 0);
    let after = spy.0.count(Op::Reserve);
    promise!(after == before, "no reservation is made after the signal"; "{}", after - before);
    let cancelled = spy.0.calls().iter().all(|call| match call {
        Call::Reserve(request) => request.cancel.is_cancelled(),
        _ => true,
    });
    promise!(cancelled, "the reservation under way is cancelled"; "it is not");
    let job = b.client().take_one().await;
    promise!(
        job.lease.id == late && job.attempt == 1,
        "the job {late} that came after the signal is left for another worker";
        "{job:?}"
    );
}

pub(crate) async fn jobs_that_were_not_started_are_given_back(h: &dyn Harness) {
    const JOBS: usize = 3;
    let b = Bench::new(h).await;
    for n in 0..JOBS {
        b.enqueue(Probe::succeeding(format!("job {n}"))).await;
    }
    let late = LateReply {
        inner: Arc::clone(&b.driver),
        by: b.lease() / 2,
    };
    let worker = b.worker_on(Arc::new(Wrapped(late)), |w| w.concurrency(JOBS));
    // The reservation is made, and its reply under way.
    b.elapse(b.lease() / 4).await;
    let report = worker.stop(b.patience()).await;
    let (runs, told) = (b.records.runs().len(), b.records.told());
    promise!(runs == 0, "what arrives after the signal is not started"; "the runs were:{told}");
    reports(&report, 0, JOBS as u64, 0);
    let jobs = b.client().take(JOBS).await;
    have_attempt_one(&b, &jobs);
}

/// A driver whose reservations take their time to come back.
#[derive(Debug)]
struct LateReply {
    inner: Arc<dyn Driver>,
    by: Duration,
}

#[async_trait]
impl Around for LateReply {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.inner
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        let jobs = self.inner.reserve(request).await?;
        if !jobs.is_empty() {
            tokio::time::sleep(self.by).await;
        }
        Ok(jobs)
    }
}

pub(crate) async fn an_abort_waits_for_nothing(h: &dyn Harness) {
    let b = Bench::new(h).await;
    b.enqueue(Probe::new("job", [Act::Endless])).await;
    let mut worker = b.worker(|w| w.shutdown_grace(Duration::from_secs(3600)));
    b.records.started("job", 1, b.patience()).await;
    worker.signal();
    b.elapse(b.lease() / 4).await;
    promise!(worker.is_running(), "the worker waits for its job during the grace"; "it has ended");
    worker.handle.abort();
    let report = worker.end(b.timing.tolerance).await;
    reports(&report, 0, 0, 1);
    let client = b.client();
    client
        .finds_nothing("an aborted worker gives nothing back")
        .await;
    b.elapse(b.lease()).await;
    let job = client.take_one().await;
    promise!(job.attempt == 2, "the job is free when its lease is over"; "{job:?}");
}

/// A reservation that never returns, whatever is cancelled, must not hold the stop up.
pub(crate) async fn a_silent_backend_does_not_hold_up_the_stop(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let line = FaultyDriver::new(Arc::clone(&b.driver));
    let faults = line.faults();
    let grace = b.lease() / 2;
    b.enqueue(Probe::new("job", [Act::UntilCancelled])).await;
    let worker = b.worker_on(Arc::new(line), |w| w.concurrency(2).shutdown_grace(grace));
    b.records.started("job", 1, b.patience()).await;
    for op in [Op::Reserve, Op::Extend, Op::Settle, Op::Maintain] {
        faults.slow(op, Duration::MAX);
    }
    // Ends the reservation under way; the next one hangs.
    b.enqueue(Probe::new("another", [Act::UntilCancelled]))
        .await;
    b.elapse(b.lease() / 4).await;
    let limit = grace + Duration::from_secs(7) + b.timing.tolerance;
    let report = worker.stop(limit).await;
    promise!(
        report.finished == 0 && report.abandoned >= 1,
        "what could not be given back is reported as abandoned";
        "{report:?}"
    );
}

/// Signals are for whole processes, so this one has a process of its own, and a store in it.
pub(crate) async fn a_second_signal_aborts(h: &dyn Harness) {
    const SOON: Duration = Duration::from_secs(20);
    let mut child = Child::start(h.name(), Program::Stubborn, &Arguments::default());
    child.hear("running stubborn 1", SOON).await;
    child.terminate();
    let stopped = child.listen("stopped", Duration::from_secs(1)).await;
    promise!(stopped.is_none(), "after one signal the job has its hour of grace"; "{stopped:?}");
    let since = Instant::now();
    child.terminate();
    let numbers = child.hear("stopped ", SOON).await;
    let took = since.elapsed();
    promise!(
        took < Duration::from_secs(2),
        "the second signal ends the worker at once";
        "it took {took:?}"
    );
    promise!(
        numbers == "finished=0 released=0 abandoned=1",
        "the report says that one job was abandoned";
        "`{numbers}`"
    );
}

fn reports(report: &Report, finished: u64, released: u64, abandoned: u64) {
    promise!(
        (report.finished, report.released, report.abandoned) == (finished, released, abandoned),
        "the report says finished {finished}, released {released}, abandoned {abandoned}";
        "{report:?}"
    );
}

/// What is given back has its attempt again, where the backend can.
fn have_attempt_one(b: &Bench<'_>, jobs: &[Reserved]) {
    let most = if b.can().release_without_attempt {
        1
    } else {
        2
    };
    promise!(
        jobs.iter().all(|job| job.attempt <= most),
        "the attempts are unchanged (release_without_attempt: {})",
        b.can().release_without_attempt;
        "{}",
        crate::tools::listed(jobs)
    );
}
