//! Ends of runs that do not come out as they should: refused by the backend, or never told.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use goqueue_conformance::wrap::{Around, Wrapped};
use goqueue_core::{
    Error, Handler, Job, JobContext, JobOutcome, JobResult, Queue, QueueName, Result, Worker,
    async_trait,
    driver::{Driver, LeaseOutcome, ReserveRequest, Reserved, Settlement, Verdict},
};
use goqueue_memory::MemoryDriver;
use serde::{Deserialize, Serialize};
use tokio::sync::Barrier;

const JOBS: usize = 6;

/// A backend that refuses every call which carries the error `poison`.
#[derive(Debug)]
struct Picky(Arc<dyn Driver>);

#[async_trait]
impl Around for Picky {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.0
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        let is_poisoned = |settlement: &Settlement| matches!(&settlement.verdict, Verdict::Retry { error, .. } if error == "poison");
        if settlements.iter().any(is_poisoned) {
            return Err(Error::Backend {
                driver: "memory",
                operation: "settle",
                transient: false,
                source: "the error text is not to its taste".into(),
            });
        }
        self.0.settle(settlements).await
    }
}

#[derive(Serialize, Deserialize)]
struct Meal {
    is_poisoned: bool,
}

impl Job for Meal {
    const NAME: &'static str = "meal";
}

impl Handler for Meal {
    async fn handle(self, cx: JobContext) -> JobResult {
        // All end together, so that their settlements make one group.
        cx.state::<Barrier>()?.wait().await;
        if self.is_poisoned {
            return Err("poison".into());
        }
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_is_refused_does_not_cost_the_others_theirs() {
    let queue = Queue::new(Wrapped(Picky(Arc::new(MemoryDriver::new()))));
    let jobs = (0..JOBS).map(|n| Meal {
        is_poisoned: n == 2,
    });
    queue.enqueue_all(jobs).await.unwrap();
    let outcomes = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&outcomes);
    let report = Worker::builder(&queue)
        .only_registered()
        .register::<Meal>()
        .concurrency(JOBS)
        .state(Barrier::new(JOBS))
        .on_job_complete(move |metrics| seen.lock().unwrap().push(metrics.outcome))
        .build()
        .unwrap()
        .drain()
        .await
        .unwrap();

    assert_eq!(report.finished, JOBS as u64 - 1);
    let outcomes = std::mem::take(&mut *outcomes.lock().unwrap());
    let count = |wanted| {
        outcomes
            .iter()
            .filter(|outcome| **outcome == wanted)
            .count()
    };
    assert_eq!(
        (count(JobOutcome::Succeeded), count(JobOutcome::LeaseLost)),
        (JOBS - 1, 1)
    );
    // Its lease has to run out; then it runs again.
    let default = QueueName::new("default").unwrap();
    let stats = queue.inspect().unwrap().stats(&default).await.unwrap();
    assert_eq!((stats.running, stats.ready), (1, 0));
}

#[derive(Serialize, Deserialize)]
struct Grenade;

impl Job for Grenade {
    const NAME: &'static str = "grenade";
}

/// Goes off when it is dropped.
struct Pin;

impl Drop for Pin {
    fn drop(&mut self) {
        panic!("it went off");
    }
}

impl Handler for Grenade {
    async fn handle(self, cx: JobContext) -> JobResult {
        if cx.attempt() == 1 {
            let _pin = Pin;
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_when_it_is_dropped_costs_no_more_than_its_lease() {
    let queue = Queue::new(MemoryDriver::new());
    queue
        .enqueue(Grenade)
        .timeout(Duration::from_secs(1))
        .await
        .unwrap();
    let worker = Worker::builder(&queue)
        .only_registered()
        .register::<Grenade>()
        .lease(Duration::from_secs(10))
        .build()
        .unwrap();
    let handle = worker.handle();
    let succeeded = async {
        while handle.stats().succeeded == 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let started = tokio::time::Instant::now();
    let report = worker.run_until(succeeded).await.unwrap();
    assert_eq!((report.finished, report.abandoned), (1, 0));
    assert!(
        started.elapsed() < Duration::from_secs(12),
        "{:?}",
        started.elapsed()
    );
}

const LEASE: Duration = Duration::from_secs(10);

/// A backend whose first hand-out of jobs arrives when their leases are over, as for a process that
/// was frozen meanwhile, and whose first settlement is lost before it arrives.
#[derive(Debug)]
struct Late {
    driver: Arc<dyn Driver>,
    is_late: AtomicBool,
    loses: AtomicBool,
    given: Arc<Mutex<Vec<Verdict>>>,
}

#[async_trait]
impl Around for Late {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.driver
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        let jobs = self.driver.reserve(request).await?;
        if !jobs.is_empty() && self.is_late.swap(false, Ordering::SeqCst) {
            tokio::time::sleep(2 * LEASE).await;
        }
        Ok(jobs)
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        if self.loses.swap(false, Ordering::SeqCst) {
            return Err(Error::Backend {
                driver: "memory",
                operation: "settle",
                transient: true,
                source: "the line broke".into(),
            });
        }
        let verdicts = settlements.iter().map(|one| one.verdict.clone());
        self.given.lock().unwrap().extend(verdicts);
        self.driver.settle(settlements).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_comes_in_after_its_lease_is_not_run_nor_counted() {
    let given = Arc::default();
    let queue = Queue::new(Wrapped(Late {
        driver: Arc::new(MemoryDriver::new()),
        is_late: AtomicBool::new(true),
        loses: AtomicBool::new(true),
        given: Arc::clone(&given),
    }));
    queue.enqueue(Meal { is_poisoned: false }).await.unwrap();
    let ends = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ends);
    let worker = Worker::builder(&queue)
        .only_registered()
        .register::<Meal>()
        .state(Barrier::new(1))
        .lease(LEASE)
        .on_job_complete(move |run| seen.lock().unwrap().push((run.attempt, run.outcome)))
        .build()
        .unwrap();
    let handle = worker.handle();
    let succeeded = async {
        while handle.stats().succeeded == 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    worker.run_until(succeeded).await.unwrap();
    assert_eq!(*ends.lock().unwrap(), [(2, JobOutcome::Succeeded)]);
    // It was offered back first, which nobody took.
    let release = Verdict::Release {
        delay: Duration::ZERO,
    };
    assert_eq!(*given.lock().unwrap(), [release, Verdict::Ack]);
}
