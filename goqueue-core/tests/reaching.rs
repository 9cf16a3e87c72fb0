//! A worker that had no line to its backend goes on as soon as it has one again.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use goqueue_conformance::wrap::{Around, Wrapped};
use goqueue_core::{
    Error, Handler, Job, JobContext, JobResult, Queue, Result, Worker, WorkerHandle, async_trait,
    driver::{Driver, LeaseOutcome, ReserveRequest, Reserved, Settlement},
};
use goqueue_memory::MemoryDriver;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// A backend that can be told to reserve or settle nothing, and notes when it does so again.
#[derive(Debug)]
struct Moody {
    inner: Arc<dyn Driver>,
    reserves: Ability,
    settles: Ability,
}

#[derive(Debug, Default)]
struct Ability {
    is_lost: AtomicBool,
    tries: AtomicUsize,
    regained: Mutex<Option<Instant>>,
}

impl Ability {
    fn lose(&self) {
        *self.regained.lock().unwrap() = None;
        self.is_lost.store(true, Ordering::SeqCst);
    }

    fn restore(&self) {
        self.is_lost.store(false, Ordering::SeqCst);
    }

    fn regained(&self) -> Option<Instant> {
        *self.regained.lock().unwrap()
    }

    fn exercise(&self, operation: &'static str) -> Result<()> {
        self.tries.fetch_add(1, Ordering::SeqCst);
        if self.is_lost.load(Ordering::SeqCst) {
            return Err(Error::Backend {
                driver: "memory",
                operation,
                transient: true,
                source: "no connection".into(),
            });
        }
        self.regained.lock().unwrap().get_or_insert(Instant::now());
        Ok(())
    }
}

#[async_trait]
impl Around for Moody {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.inner
    }

    async fn reserve(&self, mut request: ReserveRequest) -> Result<Vec<Reserved>> {
        self.reserves.exercise("reserve")?;
        if self.settles.is_lost.load(Ordering::SeqCst) {
            // So that the worker asks often.
            request.wait = request.wait.min(Duration::from_millis(20));
        }
        self.inner.reserve(request).await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        self.settles.exercise("settle")?;
        self.inner.settle(settlements).await
    }
}

#[derive(Serialize, Deserialize)]
struct Nap;

impl Job for Nap {
    const NAME: &'static str = "nap";
}

impl Handler for Nap {
    async fn handle(self, _: JobContext) -> JobResult {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok(())
    }
}

/// A moody backend, and a worker that naps on it until it is aborted.
async fn napping() -> (Arc<Wrapped<Moody>>, Queue, WorkerHandle) {
    let driver = Arc::new(Wrapped(Moody {
        inner: Arc::new(MemoryDriver::new()),
        reserves: Ability::default(),
        settles: Ability::default(),
    }));
    let queue = Queue::from_shared(driver.clone());
    let worker = Worker::builder(&queue)
        .only_registered()
        .register::<Nap>()
        .concurrency(2)
        .lease(Duration::from_secs(3600))
        .build()
        .unwrap();
    let handle = worker.handle();
    tokio::spawn(worker.run_until(std::future::pending()));
    (driver, queue, handle)
}

#[tokio::test(start_paused = true)]
async fn an_end_is_told_as_soon_as_the_backend_is_reached_again() {
    let (driver, queue, worker) = napping().await;
    let Moody {
        reserves, settles, ..
    } = &driver.0;
    for round in 1..=10 {
        queue.enqueue(Nap).await.unwrap();
        tokio::time::sleep(Duration::from_millis(60)).await;
        reserves.lose();
        settles.lose();
        // By then both are in the longest pauses of their backoff, of about five seconds.
        tokio::time::sleep(Duration::from_secs(60) + Duration::from_millis(500 * round)).await;
        reserves.restore();
        settles.restore();
        while worker.stats().succeeded < round || reserves.regained().is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // Nothing, where the settler was the first to find out.
        let (told, reached) = (settles.regained().unwrap(), reserves.regained().unwrap());
        let late = told.saturating_duration_since(reached);
        assert!(
            late < Duration::from_millis(10),
            "{late:?} in round {round}"
        );
    }
    worker.abort();
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_only_settles_nothing_is_not_hammered() {
    let (driver, queue, worker) = napping().await;
    let Moody {
        reserves, settles, ..
    } = &driver.0;
    settles.lose();
    queue.enqueue(Nap).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let tries = |ability: &Ability| ability.tries.load(Ordering::SeqCst);
    assert!(tries(reserves) > 1_000, "{} reservations", tries(reserves));
    assert!(
        (10..=40).contains(&tries(settles)),
        "{} tries",
        tries(settles)
    );
    worker.abort();
}
