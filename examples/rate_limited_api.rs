//! Calling an API that allows so many calls per second and customer, and that is down for a while.
//!
//! ```text
//! cargo run -p goqueue-examples --example rate_limited_api
//! ```
//!
//! No job fails and none waits in a slot: what is over the limit, or would meet the API while it is
//! down, is snoozed until its turn. One job tries the API meanwhile, and spends its attempts.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use goqueue::{
    middleware::{CircuitBreakerLayer, JobRequest, RateLimitLayer, TimeoutLayer},
    prelude::*,
};
use serde::{Deserialize, Serialize};
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep},
};

/// What the API allows each customer.
const CALLS: usize = 4;
const PERIOD: Duration = Duration::from_millis(500);
/// When the API is down, from the start.
const DOWN: std::ops::Range<Duration> = Duration::from_millis(600)..Duration::from_millis(1100);
const CUSTOMERS: [&str; 2] = ["acme", "globex"];
const JOBS: usize = 10;

/// Stands for somebody else's service.
struct Api {
    started: Instant,
    calls: Mutex<HashMap<String, Vec<Instant>>>,
    refused: AtomicU32,
    failed: AtomicU32,
}

impl Api {
    fn new() -> Self {
        Self {
            started: Instant::now(),
            calls: Mutex::default(),
            refused: AtomicU32::new(0),
            failed: AtomicU32::new(0),
        }
    }

    /// Answers an HTTP status.
    async fn call(&self, customer: &str) -> u16 {
        if DOWN.contains(&self.started.elapsed()) {
            self.failed.fetch_add(1, Relaxed);
            return 503;
        }
        let is_over = {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            let calls = calls.entry(customer.to_owned()).or_default();
            // Shorter than what it tells its customers: calls take their time on the way, some
            // more than others.
            let period = PERIOD / 2;
            calls.retain(|call| call.elapsed() < period);
            calls.push(Instant::now());
            calls.len() > CALLS
        };
        if is_over {
            self.refused.fetch_add(1, Relaxed);
            return 429;
        }
        sleep(Duration::from_millis(10)).await;
        200
    }
}

#[derive(Debug, Serialize, Deserialize, Job)]
#[job(
    name = "crm.push",
    queue = "crm",
    max_attempts = 20,
    initial_delay = "50ms"
)]
struct PushContact {
    number: usize,
}

impl Handler for PushContact {
    async fn handle(self, cx: JobContext) -> JobResult {
        let api = cx.state::<Arc<Api>>()?;
        let customer = customer_of(cx.headers()).unwrap_or_default();
        match api.call(&customer).await {
            200 => {
                let (at, number) = (api.started.elapsed().as_millis(), self.number);
                println!(
                    "{at:>5} ms  {customer:<7} contact {number}, attempt {}",
                    cx.attempt()
                );
                Ok(())
            }
            status => Err(format!("the API answered {status}").into()),
        }
    }
}

fn customer_of(headers: &goqueue::job::Headers) -> Option<String> {
    headers.get("customer").cloned()
}

#[tokio::main]
async fn main() -> goqueue::Result<()> {
    let queue = Queue::connect_url("memory://").await?;
    for customer in CUSTOMERS {
        let contacts = (1..=JOBS).map(|number| PushContact { number });
        queue
            .enqueue_all(contacts)
            .header("customer", customer)
            .await?;
    }

    let api = Arc::new(Api::new());
    let snoozed = Arc::new(AtomicU32::new(0));
    let ended = Arc::new(Semaphore::new(0));
    let worker = {
        let (snoozed, ended) = (Arc::clone(&snoozed), Arc::clone(&ended));
        let customer = |job: &JobRequest| customer_of(job.headers());
        Worker::builder(&queue)
            .state(Arc::clone(&api))
            // From the outside in: while the API is down no call takes up the limit, and what
            // waits for the limit has no timeout running.
            .layer(CircuitBreakerLayer::new(2, Duration::from_millis(200)))
            .layer(RateLimitLayer::new(CALLS, PERIOD).by(customer))
            .layer(TimeoutLayer::new(Duration::from_secs(5)))
            .on_job_complete(move |run| match run.outcome {
                JobOutcome::Snoozed(_) => drop(snoozed.fetch_add(1, Relaxed)),
                outcome if outcome.is_final() => ended.add_permits(1),
                _ => {}
            })
            .build()?
    };
    let handle = worker.handle();
    let all = u32::try_from(CUSTOMERS.len() * JOBS).unwrap_or(u32::MAX);
    worker
        .run_until(async move {
            // It is never closed, so this only ends when all jobs have.
            let _ = ended.acquire_many(all).await;
        })
        .await?;

    let stats = handle.stats();
    println!(
        "{} done, {} dead; {} snoozed; the API refused {} calls and failed {}",
        stats.succeeded,
        stats.dead,
        snoozed.load(Relaxed),
        api.refused.load(Relaxed),
        api.failed.load(Relaxed),
    );
    Ok(())
}
