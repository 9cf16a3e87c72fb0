//! What is measured of any durable driver.

use std::time::Duration;

use futures_util::future::try_join_all;
use goqueue::{QueueName, RetryPolicy, prelude::*};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};

use crate::{
    sample::{Failure, Meter, Sample},
    work::{FailOnce, Noop, Timed, Told, have_run, ran},
};

/// Jobs of one bulk call.
pub(crate) const BULK: usize = 1_000;
/// The concurrency of a draining worker.
pub(crate) const CONCURRENCY: usize = 100;
/// How long a worker is left alone before the next job of a latency measurement.
pub(crate) const REST: Duration = Duration::from_millis(20);
/// A rest in which a processor hardly falls asleep.
pub(crate) const SHORT_REST: Duration = Duration::from_millis(1);

/// `callers` tasks, each awaiting each of its calls.
pub(crate) async fn enqueue(
    queue: &Queue,
    callers: usize,
    jobs: usize,
    payload: usize,
) -> Result<Sample, Failure> {
    let meter = Meter::start();
    let each = jobs / callers;
    let tasks = (0..callers).map(|_| {
        let queue = queue.clone();
        tokio::spawn(async move {
            for _ in 0..each {
                queue.enqueue(Noop::of(payload)).await?;
            }
            Ok::<_, Failure>(())
        })
    });
    for result in try_join_all(tasks).await? {
        result?;
    }
    Ok(meter.stop(each * callers))
}

/// `enqueue_all` in thousands.
pub(crate) async fn bulk(queue: &Queue, jobs: usize, payload: usize) -> Result<Sample, Failure> {
    bulk_in(queue, jobs, payload, BULK).await
}

/// `enqueue_all` in batches.
pub(crate) async fn bulk_in(
    queue: &Queue,
    jobs: usize,
    payload: usize,
    batch: usize,
) -> Result<Sample, Failure> {
    let meter = Meter::start();
    let mut left = jobs;
    while left > 0 {
        let some = left.min(batch);
        queue
            .enqueue_all((0..some).map(|_| Noop::of(payload)))
            .await?;
        left -= some;
    }
    Ok(meter.stop(jobs))
}

/// A worker that drains what is there.
pub(crate) async fn drain(queue: &Queue, concurrency: usize) -> Result<Sample, Failure> {
    let worker = Worker::builder(queue).concurrency(concurrency).build()?;
    let meter = Meter::start();
    let report = worker.drain().await?;
    Ok(meter.stop(usize::try_from(report.finished)?))
}

/// A worker that runs at least `jobs` of a longer queue.
pub(crate) async fn run_some(queue: &Queue, jobs: usize) -> Result<Sample, Failure> {
    let worker = Worker::builder(queue).concurrency(CONCURRENCY).build()?;
    let before = ran();
    let meter = Meter::start();
    let mut sample = None;
    worker
        .run_until(async {
            have_run(before, jobs).await;
            sample = Some(meter.stop(ran() - before));
        })
        .await?;
    sample.ok_or_else(|| "the worker ended early".into())
}

/// Jobs that fail once and succeed a millisecond later, from their first start to their last end.
pub(crate) async fn fail_once(
    queue: &Queue,
    jobs: usize,
    payload: usize,
) -> Result<Sample, Failure> {
    let mut left = jobs;
    while left > 0 {
        let some = left.min(BULK);
        let batch = (0..some).map(|_| FailOnce::of(payload));
        queue.enqueue_all(batch).await?;
        left -= some;
    }
    let worker = Worker::builder(queue)
        .concurrency(CONCURRENCY)
        .retry(RetryPolicy::constant(Duration::from_millis(1)))
        .build()?;
    let handle = worker.handle();
    let meter = Meter::start();
    let mut sample = None;
    worker
        .run_until(async {
            while handle.stats().succeeded < jobs as u64 {
                sleep(Duration::from_millis(1)).await;
            }
            sample = Some(meter.stop(jobs));
        })
        .await?;
    sample.ok_or_else(|| "the worker ended early".into())
}

/// From the enqueue call to the handler, in milliseconds, for a worker that waits: through
/// `producer`, run by a worker on `consumer` that is left alone for `rest` before each.
pub(crate) async fn latencies(
    producer: &Queue,
    consumer: &Queue,
    samples: usize,
    payload: usize,
    rest: Duration,
) -> Result<Vec<f64>, Failure> {
    let (told, mut ran): (Told, _) = mpsc::unbounded_channel();
    let worker = Worker::builder(consumer)
        .concurrency(CONCURRENCY)
        .state(told)
        .build()?;
    let mut all = Vec::with_capacity(samples);
    let mut failure = None;
    worker
        .run_until(async {
            for _ in 0..samples {
                sleep(rest).await;
                let start = Instant::now();
                if let Err(error) = producer.enqueue(Timed::of(payload)).await {
                    failure = Some(error);
                    return;
                }
                let Some(end) = ran.recv().await else { return };
                all.push(end.saturating_duration_since(start).as_secs_f64() * 1e3);
            }
        })
        .await?;
    match failure {
        Some(error) => Err(error.into()),
        None => Ok(all),
    }
}

/// Jobs that became due at the same time, made ready by maintenance alone.
pub(crate) async fn promote(queue: &Queue, jobs: usize, payload: usize) -> Result<Sample, Failure> {
    const DELAY: Duration = Duration::from_secs(4);
    let names = [QueueName::new("default")?];
    let mut left = jobs;
    while left > 0 {
        let some = left.min(BULK);
        let batch = (0..some).map(|_| Noop::of(payload));
        queue.enqueue_all(batch).delay(DELAY).await?;
        left -= some;
    }
    sleep(DELAY).await;
    let mut promoted = 0;
    let meter = Meter::start();
    while promoted < jobs as u64 {
        promoted += queue.driver().maintain(&names).await?.promoted;
    }
    Ok(meter.stop(jobs))
}

/// How long an enqueue call takes with nobody waiting for the job, after a rest, in milliseconds.
pub(crate) async fn calls(
    queue: &Queue,
    samples: usize,
    payload: usize,
    rest: Duration,
) -> Result<Vec<f64>, Failure> {
    let mut all = Vec::with_capacity(samples);
    for _ in 0..samples {
        sleep(rest).await;
        let start = Instant::now();
        queue.enqueue(Noop::of(payload)).await?;
        all.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(all)
}
