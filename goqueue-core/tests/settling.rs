//! Ends of runs that do not come out as they should: refused by the backend, or never told.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use goqueue_conformance::wrap::{Around, Wrapped};
use goqueue_core::{
    Error, Handler, Job, JobContext, JobOutcome, JobResult, Queue, QueueName, Result, Worker,
    async_trait,
    driver::{Driver, LeaseOutcome, Settlement, Verdict},
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
