//! apalis-mysql, as it comes, with its batch set to 100.

use std::time::Instant;

use apalis::{layers::WorkerBuilderExt, prelude::*};
use apalis_mysql::{Config, MySqlPool, MySqlStorage, fetcher::MySqlFetcher};
use apalis_codec::json::JsonCodec;
use tokio::sync::mpsc;

use crate::answer::{Answer, Clock, Countdown, Failure, Job, Task, latencies};

const QUEUE: &str = "bench-apalis";

pub async fn measure(task: &Task) -> Result<Answer, Failure> {
    match task.measure.as_str() {
        "enqueue" => enqueue(task).await,
        "bulk" => bulk(task).await,
        "drain" => drain(task).await,
        "latency" => latency(task).await,
        _ => Err(task.unknown()),
    }
}

type Storage = MySqlStorage<Job, JsonCodec<Vec<u8>>, MySqlFetcher>;

async fn storage(task: &Task) -> Result<Storage, Failure> {
    let pool = MySqlPool::connect(&task.url).await?;
    MySqlStorage::setup(&pool).await?;
    let config = Config::new(QUEUE).set_buffer_size(100);
    Ok(MySqlStorage::new_with_config(&pool, &config))
}

async fn enqueue(task: &Task) -> Result<Answer, Failure> {
    let storage = storage(task).await?;
    let clock = Clock::new();
    let mut callers = Vec::new();
    for _ in 0..task.callers {
        let (mut storage, job, jobs) = (storage.clone(), task.job(), task.jobs / task.callers);
        callers.push(tokio::spawn(async move {
            for _ in 0..jobs {
                storage.push(job.clone()).await.map_err(|e| e.to_string())?;
            }
            Ok::<_, String>(())
        }));
    }
    for caller in callers {
        caller.await??;
    }
    Ok(clock.stop())
}

async fn fill(task: &Task) -> Result<(), Failure> {
    let mut storage = storage(task).await?;
    let mut left = task.jobs;
    while left > 0 {
        let some = left.min(1000);
        storage
            .push_bulk(vec![task.job(); some])
            .await
            .map_err(|e| e.to_string())?;
        left -= some;
    }
    Ok(())
}

async fn bulk(task: &Task) -> Result<Answer, Failure> {
    let clock = Clock::new();
    fill(task).await?;
    Ok(clock.stop())
}

async fn drain(task: &Task) -> Result<Answer, Failure> {
    fill(task).await?;
    let left = Countdown::new(task.jobs);
    let worker = WorkerBuilder::new("bench")
        .backend(storage(task).await?)
        .concurrency(task.callers)
        .data(left.clone())
        .build(|_job: Job, left: Data<Countdown>| async move {
            left.one_ran();
        });
    let clock = Clock::new();
    tokio::spawn(async move { worker.run().await });
    left.done().await;
    Ok(clock.stop())
}

async fn latency(task: &Task) -> Result<Answer, Failure> {
    let (told, ran) = mpsc::unbounded_channel();
    let worker = WorkerBuilder::new("bench")
        .backend(storage(task).await?)
        .concurrency(task.callers)
        .data(told)
        .build(
            |_job: Job, told: Data<mpsc::UnboundedSender<Instant>>| async move {
                let _ = told.send(Instant::now());
            },
        );
    tokio::spawn(async move { worker.run().await });
    let storage = storage(task).await?;
    latencies(task.jobs, ran, || {
        let mut storage = storage.clone();
        let job = task.job();
        async move { Ok(storage.push(job).await.map_err(|e| e.to_string())?) }
    })
    .await
}
