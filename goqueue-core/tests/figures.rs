//! What a queue and a worker tell of how they are doing.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::{sync::Arc, time::Duration};

use goqueue_core::{
    Error, Handler, Job, JobContext, JobError, JobResult, Queue, QueueName, Result, Worker,
    WorkerHandle, async_trait,
    driver::{
        Capabilities, Driver, Inspect, Lease, LeaseOutcome, Maintenance, NewJob, PushOutcome,
        ReserveRequest, Reserved, Settlement,
    },
};
use goqueue_memory::MemoryDriver;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Work {
    Sleep(u64),
    Fail,
    Permanent,
}

impl Job for Work {
    const NAME: &'static str = "work";
}

impl Handler for Work {
    async fn handle(self, _cx: JobContext) -> JobResult {
        match self {
            Work::Sleep(seconds) => sleep(SECOND * seconds as u32).await,
            Work::Fail => return Err("no luck".into()),
            Work::Permanent => return Err(JobError::permanent("no use")),
        }
        Ok(())
    }
}

/// Memory behind a line that takes its time.
#[derive(Debug)]
struct Slow {
    inner: MemoryDriver,
    ping: Duration,
    call: Duration,
}

#[async_trait]
impl Driver for Slow {
    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    async fn ping(&self) -> Result<()> {
        sleep(self.ping).await;
        self.inner.ping().await
    }

    async fn push(&self, jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        self.inner.push(jobs).await
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        sleep(self.call).await;
        self.inner.reserve(request).await
    }

    async fn extend(&self, leases: Vec<Lease>, by: Duration) -> Result<Vec<LeaseOutcome>> {
        self.inner.extend(leases, by).await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        sleep(2 * self.call).await;
        self.inner.settle(settlements).await
    }

    async fn maintain(&self, queues: &[QueueName]) -> Result<Maintenance> {
        self.inner.maintain(queues).await
    }

    fn inspect(&self) -> Option<&dyn Inspect> {
        self.inner.inspect()
    }

    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}

fn slow(ping: Duration, call: Duration) -> Queue {
    let inner = MemoryDriver::new();
    Queue::from_shared(Arc::new(Slow { inner, ping, call }))
}

fn worker(queue: &Queue, concurrency: usize) -> Worker {
    Worker::builder(queue)
        .only_registered()
        .register::<Work>()
        .concurrency(concurrency)
        .build()
        .unwrap()
}

/// Runs a worker on these jobs for a while, and answers what it then tells of itself.
async fn after(
    queue: &Queue,
    jobs: Vec<Work>,
    concurrency: usize,
    seconds: u64,
) -> (WorkerHandle, tokio::task::JoinHandle<()>) {
    queue.enqueue_all(jobs).max_attempts(2).await.unwrap();
    let worker = worker(queue, concurrency);
    let handle = worker.handle();
    let running = tokio::spawn(async move {
        worker.run().await.unwrap();
    });
    sleep(SECOND * seconds as u32).await;
    (handle, running)
}

#[tokio::test(start_paused = true)]
async fn a_queue_tells_how_long_its_backend_takes() {
    let millis = Duration::from_millis;
    let health = slow(millis(70), Duration::ZERO).health().await;
    assert!(health.is_healthy());
    assert_eq!((health.driver, health.latency), ("memory", millis(70)));

    let queue = Queue::new(MemoryDriver::new());
    queue.close().await.unwrap();
    let health = queue.health().await;
    assert!(!health.is_healthy());
    assert!(matches!(health.error, Some(Error::Closed { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_does_not_answer_a_ping_is_not_waited_for() {
    let queue = slow(SECOND * 3600, Duration::ZERO);
    let start = Instant::now();
    let health = queue.health().await;
    let limit = queue.config().enqueue_timeout;
    assert_eq!((health.latency, start.elapsed()), (limit, limit));
    assert!(matches!(health.error, Some(Error::Timeout { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_worker_tells_how_long_its_backend_takes() {
    let call = Duration::from_millis(20);
    let queue = slow(Duration::ZERO, call);
    let idle = after(&queue, Vec::new(), 2, 50).await.0;
    let stats = idle.stats();
    assert_eq!((stats.reserve_latency, stats.settle_latency), (None, None));

    let (handle, running) = after(&queue, vec![Work::Sleep(1); 40], 4, 5).await;
    let stats = handle.stats();
    let (reserve, settle) = (
        stats.reserve_latency.unwrap(),
        stats.settle_latency.unwrap(),
    );
    assert_eq!((reserve.last, reserve.average), (call, call));
    assert_eq!((settle.last, settle.average), (2 * call, 2 * call));
    handle.shutdown();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_job_is_neither_latency_nor_load() {
    let queue = Queue::new(MemoryDriver::new());
    // One slot: a reservation that waited for its job looks just like one that found it.
    let (handle, running) = after(&queue, Vec::new(), 1, 0).await;
    for _ in 0..60 {
        queue.enqueue(Work::Sleep(0)).await.unwrap();
        sleep(SECOND).await;
    }
    let stats = handle.stats();
    assert_eq!((stats.succeeded, stats.reserve_latency), (60, None));
    assert!(
        stats.saturation < 0.1 && !stats.is_overloaded(),
        "{stats:?}"
    );
    handle.shutdown();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_worker_without_a_free_slot_is_overloaded_after_a_while_and_recovers() {
    let queue = Queue::new(MemoryDriver::new());
    let (handle, running) = after(&queue, vec![Work::Sleep(5); 24], 2, 20).await;
    assert!(!handle.stats().is_overloaded(), "{:?}", handle.stats());
    sleep(5 * SECOND).await;
    assert!(handle.stats().is_overloaded(), "{:?}", handle.stats());
    // The work ends after 60 seconds.
    sleep(40 * SECOND).await;
    assert_eq!(handle.stats().succeeded, 24);
    assert!(!handle.stats().is_overloaded(), "{:?}", handle.stats());
    handle.shutdown();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_worker_is_overloaded_too_when_fetching_takes_all_its_time() {
    let queue = slow(Duration::ZERO, SECOND / 10);
    let (handle, running) = after(&queue, vec![Work::Sleep(0); 10_000], 4, 40).await;
    assert!(handle.stats().is_overloaded(), "{:?}", handle.stats());
    handle.shutdown();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn failures_are_those_that_are_repeated_and_those_that_are_not() {
    let queue = Queue::new(MemoryDriver::new());
    let jobs = vec![Work::Fail, Work::Permanent, Work::Sleep(0)];
    let (handle, running) = after(&queue, jobs, 4, 60).await;
    let stats = handle.stats();
    assert_eq!((stats.retried, stats.dead, stats.failed()), (1, 2, 3));
    assert_eq!(stats.finished(), 4);
    handle.shutdown();
    running.await.unwrap();
    // Stopped, and so not short of room.
    sleep(100 * SECOND).await;
    assert!(handle.stats().saturation < 0.01);
}
