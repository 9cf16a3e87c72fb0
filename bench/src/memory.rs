//! The in-process driver.

use std::time::Duration;

use goqueue::{
    WorkerBuilder,
    memory::MemoryDriver,
    middleware::{self, JobRequest, Next, from_fn},
    prelude::*,
};
use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::time::Instant;

use crate::{
    process::{cpu_time, peak_resident_mb},
    report::{self, Runs},
    work::Noop,
};

/// How long an idle worker is watched.
const IDLE: Duration = Duration::from_secs(10);
/// Jobs kept waiting while memory is watched: few, so that what is measured is the worker.
const SMALL_BACKLOG: usize = 1_000;
/// Layers stacked to measure one: enough to stand out from the noise of the rest.
const LAYERS: usize = 10;

/// Bytes of JSON in a job.
const PAYLOAD: usize = 100;

pub(crate) async fn run(jobs: usize, rounds: usize) -> goqueue::Result<()> {
    println!(
        "memory driver, no-op jobs with a 100-byte payload, {jobs} jobs, median of {rounds}\n"
    );
    // First, while the process is small: what a worker needs, not what a large queue left behind.
    resident(jobs).await?;
    idle().await?;
    enqueueing(jobs, rounds).await?;
    draining(jobs, rounds).await?;
    layers(jobs, rounds).await?;
    default_stack(jobs, rounds).await
}

async fn resident(jobs: usize) -> goqueue::Result<()> {
    let queue = Queue::new(MemoryDriver::new());
    for _ in 0..jobs / SMALL_BACKLOG {
        fill(&queue, SMALL_BACKLOG).await?;
        worker(&queue, 100).build()?.drain().await?;
    }
    if let Some(peak) = peak_resident_mb() {
        report::figure(
            "resident memory, draining at concurrency 100",
            peak,
            "MB",
            25.0,
        );
    }
    Ok(())
}

async fn idle() -> goqueue::Result<()> {
    let queue = Queue::new(MemoryDriver::new());
    let worker = worker(&queue, 100).build()?;
    let before = cpu_time();
    worker.run_until(tokio::time::sleep(IDLE)).await?;
    if let (Some(before), Some(after)) = (before, cpu_time()) {
        let percent = (after - before).as_secs_f64() / IDLE.as_secs_f64() * 100.0;
        report::figure("processor time, idle worker", percent, "% core", 0.5);
    }
    Ok(())
}

async fn enqueueing(jobs: usize, rounds: usize) -> goqueue::Result<()> {
    let mut by_callers: Vec<(usize, Runs)> = [1, 10, 100]
        .into_iter()
        .map(|callers| (callers, Runs::default()))
        .collect();
    let mut bulk = Runs::default();
    for _ in 0..rounds {
        for (callers, runs) in &mut by_callers {
            let queue = Queue::new(MemoryDriver::new());
            let start = Instant::now();
            let tasks: Vec<_> = (0..*callers)
                .map(|_| tokio::spawn(enqueue_one_by_one(queue.clone(), jobs / *callers)))
                .collect();
            for task in tasks {
                #[expect(clippy::expect_used, reason = "a panic in a task is a bug to see")]
                task.await.expect("the task ends")?;
            }
            runs.add_rate(jobs, start.elapsed());
        }
        let queue = Queue::new(MemoryDriver::new());
        let start = Instant::now();
        fill(&queue, jobs).await?;
        bulk.add_rate(jobs, start.elapsed());
    }
    for (callers, runs) in &by_callers {
        report::rate(
            &format!("enqueue, {callers} callers awaiting each"),
            runs,
            None,
        );
    }
    report::rate("enqueue_all in thousands", &bulk, None);
    Ok(())
}

async fn enqueue_one_by_one(queue: Queue, jobs: usize) -> goqueue::Result<()> {
    for _ in 0..jobs {
        queue.enqueue(Noop::of(PAYLOAD)).await?;
    }
    Ok(())
}

async fn draining(jobs: usize, rounds: usize) -> goqueue::Result<()> {
    let mut by_concurrency: Vec<(usize, Runs)> = [1, 10, 100]
        .into_iter()
        .map(|concurrency| (concurrency, Runs::default()))
        .collect();
    for _ in 0..rounds {
        for (concurrency, runs) in &mut by_concurrency {
            runs.add_rate(
                jobs,
                drain(jobs, |queue| worker(queue, *concurrency)).await?,
            );
        }
    }
    for (concurrency, runs) in &by_concurrency {
        let bar = (*concurrency == 100).then_some(300_000.0);
        report::rate(&format!("drain, concurrency {concurrency}"), runs, bar);
    }
    Ok(())
}

async fn layers(jobs: usize, rounds: usize) -> goqueue::Result<()> {
    let (mut bare, mut layered) = (Runs::default(), Runs::default());
    for _ in 0..rounds {
        bare.add_rate(jobs, drain(jobs, |queue| worker(queue, 100)).await?);
        let with_layers = |queue: &Queue| {
            (0..LAYERS).fold(worker(queue, 100), |worker, _| {
                worker.layer(from_fn(pass_on))
            })
        };
        layered.add_rate(jobs, drain(jobs, with_layers).await?);
    }
    let per_job = |runs: &Runs| 1e6 / runs.median();
    let cost = (per_job(&layered) - per_job(&bare)) / LAYERS as f64;
    report::figure("one empty middleware layer", cost, "us/job", 1.0);
    Ok(())
}

/// Trace, log, metrics, deadline and catch-panic together, with somebody listening: spans and events
/// go to a subscriber that keeps its spans, figures to a Prometheus recorder. Last, since both stay
/// for the rest of the process.
async fn default_stack(jobs: usize, rounds: usize) -> goqueue::Result<()> {
    let recorder = PrometheusBuilder::new().build_recorder();
    let figures = recorder.handle();
    let is_listening = tracing::subscriber::set_global_default(tracing_subscriber::registry())
        .is_ok()
        && metrics::set_global_recorder(recorder).is_ok();
    assert!(is_listening, "nothing else in this process listens");

    let (mut bare, mut full) = (Runs::default(), Runs::default());
    for _ in 0..rounds {
        bare.add_rate(jobs, drain(jobs, |queue| worker(queue, 100)).await?);
        let stack = |queue: &Queue| middleware::default_stack(worker(queue, 100));
        full.add_rate(jobs, drain(jobs, stack).await?);
        figures.run_upkeep();
    }
    let runs = format!("outcome=\"succeeded\"}} {}", jobs * rounds);
    assert!(figures.render().contains(&runs), "every run is counted");
    let per_job = |runs: &Runs| 1e6 / runs.median();
    let cost = per_job(&full) - per_job(&bare);
    report::figure("full default stack", cost, "us/job", 5.0);
    Ok(())
}

async fn pass_on(request: JobRequest, next: Next) -> JobResult {
    next.run(request).await
}

async fn drain(
    jobs: usize,
    worker: impl FnOnce(&Queue) -> WorkerBuilder,
) -> goqueue::Result<Duration> {
    let queue = Queue::new(MemoryDriver::new());
    fill(&queue, jobs).await?;
    let worker = worker(&queue).build()?;
    let start = Instant::now();
    let report = worker.drain().await?;
    let took = start.elapsed();
    assert_eq!(report.finished, jobs as u64, "every job runs once");
    Ok(took)
}

fn worker(queue: &Queue, concurrency: usize) -> WorkerBuilder {
    Worker::builder(queue).concurrency(concurrency)
}

async fn fill(queue: &Queue, jobs: usize) -> goqueue::Result<()> {
    let mut left = jobs;
    while left > 0 {
        let batch = left.min(1000);
        queue
            .enqueue_all((0..batch).map(|_| Noop::of(PAYLOAD)))
            .await?;
        left -= batch;
    }
    Ok(())
}
