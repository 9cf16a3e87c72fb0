//! While the backend is unreachable, enqueueing says so and workers keep trying. Nothing reports
//! success for what was not stored.

use std::{sync::Arc, time::Duration};

use goqueue_core::{Error, driver::Driver, worker::HealthStatus};
use tokio::time::Instant;

use crate::{
    check::promise,
    harness::{Harness, NoServer},
    tools::{Bench, Crew, Probe},
    wrap::{FaultyDriver, Op, Spy},
};

pub(crate) async fn an_unreachable_backend_is_an_error(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let (line, faults) = h.faulty(&b.store).await;
    let deadline = b.lease();
    let queue = b.impatient(line, deadline);
    faults.cut().await;
    let since = Instant::now();
    let answer = queue.enqueue(Probe::succeeding("job")).await;
    let took = since.elapsed();
    promise!(
        matches!(&answer, Err(error) if error.is_transient()),
        "enqueueing without a line is a transient error";
        "{answer:?}"
    );
    let latest = deadline + b.timing.tolerance;
    promise!(took <= latest, "it comes within the deadline, {latest:?}"; "after {took:?}");
    let pinged = queue.ping().await;
    promise!(pinged.is_err(), "a ping without a line is an error"; "{pinged:?}");
    let bulk = queue
        .enqueue_all([Probe::succeeding("one"), Probe::succeeding("two")])
        .await;
    promise!(
        matches!(&bulk, Err(error @ Error::PartialBatch(failed))
            if error.is_transient() && failed.failed().count() == 2),
        "a batch without a line is a transient error for each of its jobs";
        "{bulk:?}"
    );
    let client = b.client();
    client.finds_nothing("nothing was stored").await;

    faults.restore().await;
    let since = Instant::now();
    while let Err(error) = queue.enqueue(Probe::succeeding("job")).await {
        let waited = since.elapsed();
        promise!(waited < b.patience() * 2, "with the line back, jobs are stored"; "{error}");
        b.elapse(b.timing.tolerance / 10).await;
    }
    client.take_one().await;
    client
        .finds_nothing("what failed was not stored after all")
        .await;
}

pub(crate) async fn a_silent_backend_meets_the_deadline(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let line = FaultyDriver::new(Arc::clone(&b.driver));
    line.faults().slow(Op::Push, Duration::MAX);
    line.faults().slow(Op::Ping, Duration::MAX);
    let deadline = b.lease();
    let queue = b.impatient(Arc::new(line), deadline);
    let since = Instant::now();
    let answer = queue.enqueue(Probe::succeeding("job")).await;
    let took = since.elapsed();
    promise!(
        matches!(&answer, Err(error @ Error::Timeout { after, .. })
            if error.is_transient() && *after == deadline),
        "no answer within {deadline:?} is a transient error that says so";
        "{answer:?}"
    );
    promise!(
        took >= deadline && took <= deadline + b.timing.tolerance,
        "it comes when the deadline is over, {deadline:?}";
        "after {took:?}"
    );
    let pinged = queue.ping().await;
    promise!(matches!(pinged, Err(Error::Timeout { .. })), "so is a ping"; "{pinged:?}");
}

pub(crate) async fn a_worker_resumes_by_itself(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let (line, faults) = h.faulty(&b.store).await;
    let worker = b.worker_on(line, |w| w);
    b.enqueue(Probe::succeeding("before")).await;
    // Its end has to be taken down before the line is cut: that is another case.
    worker.reported(1, b.patience()).await;
    has_health(&b, &worker, HealthStatus::Healthy).await;

    faults.cut().await;
    b.enqueue(Probe::succeeding("meanwhile")).await;
    has_health(&b, &worker, HealthStatus::Unhealthy).await;
    b.elapse(b.lease() * 3).await;
    let told = worker.handle.health().last_error;
    promise!(told.is_some(), "its health tells the last error"; "{told:?}");
    promise!(worker.is_running(), "the worker keeps trying"; "it has ended");
    promise!(
        b.records.of("meanwhile").is_empty(),
        "without a line no job is run";
        "the runs were:{}",
        b.records.told()
    );

    faults.restore().await;
    // The longest pause of its backoff, and some more.
    let within = Duration::from_secs(10);
    b.records.started("meanwhile", 1, within).await;
    has_health(&b, &worker, HealthStatus::Healthy).await;
    b.client().is_over(0).await;
    worker.stop(b.patience()).await;
}

pub(crate) async fn an_unreachable_backend_is_not_hammered(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let (line, faults) = h.faulty(&b.store).await;
    let spy = Spy::on(line);
    faults.cut().await;
    let worker = b.worker_on(spy.clone(), |w| w);
    // Past the steep part of the backoff.
    b.elapse(Duration::from_secs(5)).await;
    let before = spy.0.calls().len();
    let time = Duration::from_secs(10);
    b.elapse(time).await;
    let calls = spy.0.calls().len() - before;
    promise!(
        (1..=20).contains(&calls),
        "a worker tries again with backoff: 1 to 20 calls in {time:?}";
        "{calls}"
    );
    let report = worker.stop(b.patience()).await;
    promise!(report.finished == 0, "a stop does not wait for the backend"; "{report:?}");
}

pub(crate) async fn a_run_that_ends_without_a_line_is_settled_later(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let (line, faults) = h.faulty(&b.store).await;
    b.enqueue(Probe::working("job", b.lease() / 4)).await;
    let worker = b.worker_on(line, |w| w);
    b.records.started("job", 1, b.patience()).await;
    faults.cut().await;
    b.records.ended(1, b.patience()).await;
    b.elapse(b.lease() / 8).await;
    faults.restore().await;
    worker.reported(1, b.patience()).await;
    b.client().is_over(0).await;
    let runs = b.records.attempts("job");
    promise!(runs == [1], "a short cut does not cost a second run"; "attempts {runs:?}");
    worker.stop(b.patience()).await;
}

/// A worker that is idle while its backend restarts. Where there is no server that could, its line
/// is cut and restored.
pub(crate) async fn a_restarted_backend_is_found_again(h: &dyn Harness) {
    const SOON: Duration = Duration::from_secs(10);
    let b = Bench::to_restart(h).await;
    let (line, faults) = h.faulty(&b.store).await;
    let worker = b.worker_on(line, |w| w);
    has_health(&b, &worker, HealthStatus::Healthy).await;
    if h.restart_server(&b.store).await == Err(NoServer) {
        faults.cut().await;
        b.elapse(Duration::from_secs(3)).await;
        faults.restore().await;
    }
    let since = Instant::now();
    while let Err(error) = b.queue().enqueue(Probe::succeeding("job")).await {
        promise!(since.elapsed() < SOON, "jobs are stored again within {SOON:?}"; "{error}");
        b.elapse(Duration::from_millis(100)).await;
    }
    b.records.ended(1, SOON).await;
    has_health(&b, &worker, HealthStatus::Healthy).await;
    b.client().is_over(0).await;
    worker.stop(b.patience()).await;
}

pub(crate) async fn an_oversized_payload_is_refused_unsent(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let limit = b.can().max_payload;
    let mut can = b.can().clone();
    // A limit that is too far to reach is moved to where it can be tested.
    can.max_payload = limit.min(4 << 20);
    let limit = can.max_payload;
    let spy = Spy::on(Arc::clone(&b.driver));
    let queue = b.queue_on(Arc::new(crate::wrap::Wrapped(Limited {
        inner: spy.clone(),
        can,
    })));
    let answer = queue.enqueue(Probe::succeeding("x".repeat(limit))).await;
    let Err(error) = answer else {
        panic!("expected: a job beyond {limit} bytes is refused\nhappened: {answer:?}")
    };
    let is_right = matches!(&error, Error::PayloadTooLarge { size, limit: told, .. }
        if *size > limit && *told == limit && error.to_string().contains(&size.to_string())
            && error.to_string().contains(&told.to_string()));
    promise!(is_right, "the refusal names the size and the limit of {limit}"; "{error:?}");
    promise!(!error.is_transient(), "it is for good"; "{error:?}");
    let calls = spy.0.count(Op::Push);
    promise!(calls == 0, "it is refused before anything is sent"; "{calls} calls");

    let fitting = "x".repeat(limit - 1_000);
    let answer = queue.enqueue(Probe::succeeding(&fitting)).await;
    promise!(answer.is_ok(), "a job just below the limit is stored"; "{answer:?}");
    let job = b.client().take_one().await;
    promise!(job.body.len() > fitting.len(), "it comes back whole"; "{} bytes", job.body.len());
}

#[derive(Debug)]
struct Limited {
    inner: Arc<dyn Driver>,
    can: goqueue_core::driver::Capabilities,
}

impl crate::wrap::Around for Limited {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.inner
    }

    fn capabilities(&self) -> &goqueue_core::driver::Capabilities {
        &self.can
    }
}

pub(crate) async fn a_closed_driver_says_so(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let queue = b.queue();
    let waiting = {
        let client = client.clone();
        let request = client.request(1, b.lease() * 20);
        tokio::spawn(async move { client.driver.reserve(request).await })
    };
    b.elapse(b.lease() / 10).await;
    let closed = tokio::time::timeout(b.patience() * 2, queue.close()).await;
    promise!(matches!(closed, Ok(Ok(()))), "a driver can be closed in time"; "{closed:?}");
    let waited = tokio::time::timeout(b.patience(), waiting).await;
    promise!(waited.is_ok(), "a wait under way ends with it"; "{waited:?}");
    let driver = b.can().driver;
    let says_so =
        |error: Option<Error>| matches!(error, Some(Error::Closed { driver: d }) if d == driver);
    let answers = [
        (
            "enqueue",
            queue.enqueue(Probe::succeeding("job")).await.err(),
        ),
        ("ping", queue.ping().await.err()),
        (
            "reserve",
            client
                .driver
                .reserve(client.request(1, Duration::ZERO))
                .await
                .err(),
        ),
        ("maintain", client.driver.maintain(&[]).await.err()),
    ];
    for (call, error) in answers {
        let told = format!("{error:?}");
        promise!(says_so(error), "{call} on a closed driver answers that it is closed"; "{told}");
    }
    let again = queue.close().await;
    promise!(again.is_ok(), "closing twice is no error"; "{again:?}");
}

pub(crate) async fn a_closed_driver_ends_the_worker_aloud(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let worker = b.worker(|w| w);
    b.elapse(b.lease() / 10).await;
    let closed = b.queue().close().await;
    promise!(closed.is_ok(), "a driver can be closed"; "{closed:?}");
    let ended = worker.outcome(b.patience()).await;
    promise!(
        matches!(ended, Some(Err(Error::Closed { .. }))),
        "a worker whose driver is closed for good ends, and says why";
        "{ended:?}"
    );
}

async fn has_health(b: &Bench<'_>, worker: &Crew, status: HealthStatus) {
    let since = Instant::now();
    // A long poll may have to end before a cut is noticed.
    let within = Duration::from_secs(25) + b.patience();
    loop {
        let health = worker.handle.health();
        if health.status == status {
            return;
        }
        let waited = since.elapsed();
        promise!(waited < within, "the worker's health becomes {status:?}"; "it is {health:?}");
        b.elapse(b.timing.tolerance / 10).await;
    }
}
