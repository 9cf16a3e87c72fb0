//! A job that does as it is told, and a worker that writes down what happened.

// Each test file uses a part of this.
#![allow(dead_code, reason = "shared by several tests")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use goqueue_core::{
    Handler, Job, JobContext, JobError, JobOutcome, JobResult, Queue, RetryPolicy, Worker,
    WorkerBuilder,
};
use goqueue_memory::MemoryDriver;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Act {
    Succeed,
    Sleep(u64),
    Fail,
    /// Fails until this many seconds have passed.
    FailUntil(u64),
    RetryIn(u64),
    Permanent,
    Discard,
    /// Once, for a minute.
    Snooze,
    Panic,
    PanicLater,
    Hang,
}

impl Job for Act {
    const NAME: &'static str = "act";
}

impl Handler for Act {
    async fn handle(self, cx: JobContext) -> JobResult {
        let seen = cx.state::<Seen>()?;
        let now = seen.since.elapsed();
        seen.starts.lock().unwrap().push((now, cx.attempt()));
        match self {
            Act::Succeed => {}
            Act::Sleep(seconds) => sleep(SECOND * seconds as u32).await,
            Act::Fail => return Err("no luck".into()),
            Act::FailUntil(seconds) if now.as_secs() < seconds => return Err("no luck".into()),
            Act::FailUntil(_) => {}
            Act::RetryIn(seconds) => {
                return Err(JobError::retry_in(SECOND * seconds as u32, "slow down"));
            }
            Act::Permanent => return Err(JobError::permanent("no such user")),
            Act::Discard => return Err(JobError::discard("outdated")),
            Act::Snooze if now < 60 * SECOND => return Err(JobError::snooze(60 * SECOND)),
            Act::Snooze => {}
            Act::Panic => panic!("the sky is falling"),
            Act::PanicLater => {
                sleep(SECOND).await;
                cx.headers().get("absent").expect("a value");
            }
            Act::Hang => std::future::pending().await,
        }
        Ok(())
    }
}

/// What handlers and callbacks saw.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) since: Instant,
    starts: Arc<Mutex<Vec<(Duration, u32)>>>,
    ends: Arc<Mutex<Vec<End>>>,
}

/// How a run ended, and its error.
pub(crate) type End = (JobOutcome, Option<String>);

impl Seen {
    pub(crate) fn new() -> Self {
        Self {
            since: Instant::now(),
            starts: Arc::default(),
            ends: Arc::default(),
        }
    }

    /// When handlers started, in milliseconds, sorted.
    pub(crate) fn starts(&self) -> Vec<u128> {
        let starts = self.starts.lock().unwrap();
        let mut starts: Vec<_> = starts.iter().map(|(at, _)| at.as_millis()).collect();
        starts.sort_unstable();
        starts
    }

    /// The attempts in which handlers started, in the order of the starts.
    pub(crate) fn attempts(&self) -> Vec<u32> {
        let starts = self.starts.lock().unwrap();
        starts.iter().map(|(_, attempt)| *attempt).collect()
    }

    pub(crate) fn ends(&self) -> Vec<End> {
        self.ends.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, outcome: &str) -> usize {
        let ends = self.ends.lock().unwrap();
        ends.iter()
            .filter(|(ended, _)| ended.as_str() == outcome)
            .count()
    }
}

pub(crate) fn memory() -> Queue {
    Queue::new(MemoryDriver::new())
}

/// Has a worker with the layers that `stack` adds serve the queue for so long.
pub(crate) async fn serve(
    queue: &Queue,
    seconds: u64,
    stack: impl FnOnce(WorkerBuilder) -> WorkerBuilder,
) -> Seen {
    let seen = Seen::new();
    let ends = Arc::clone(&seen.ends);
    let builder = Worker::builder(queue)
        .only_registered()
        .register::<Act>()
        .concurrency(50)
        .retry(RetryPolicy::constant(Duration::ZERO))
        .state(seen.clone())
        .on_job_complete(move |run| ends.lock().unwrap().push((run.outcome, run.error.clone())));
    let worker = stack(builder).build().unwrap();
    let time = sleep(SECOND * seconds as u32);
    worker.run_until(time).await.unwrap();
    seen
}

/// Enqueues these jobs, with two attempts each, and serves them for an hour.
pub(crate) async fn run<const N: usize>(
    jobs: [Act; N],
    stack: impl FnOnce(WorkerBuilder) -> WorkerBuilder,
) -> Seen {
    let queue = memory();
    queue.enqueue_all(jobs).max_attempts(2).await.unwrap();
    serve(&queue, 3600, stack).await
}
