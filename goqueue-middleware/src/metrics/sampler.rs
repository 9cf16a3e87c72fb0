use std::time::Duration;

use goqueue_core::{
    Queue, QueueName, Result, WorkerHandle,
    driver::{JobState, QueueStats},
    telemetry::metric::{
        DEPTH, OLDEST_AGE, QUEUE_LABEL, RESERVE_LATENCY, SAMPLE_ERRORS, SATURATION, SETTLE_LATENCY,
        STATE_LABEL,
    },
};
use metrics::{counter, gauge};
use tokio::time::{MissedTickBehavior, interval};

/// Asks the backend from time to time how its queues stand: how many jobs in each state, and how
/// long the oldest has been waiting.
///
/// One per backend is enough, whatever the number of workers: each of them would see the same.
///
/// ```
/// # use std::time::Duration;
/// # use goqueue_core::Queue;
/// use goqueue_middleware::Sampler;
///
/// # fn example(queue: &Queue) {
/// tokio::spawn(Sampler::new(queue).every(Duration::from_secs(10)).run());
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a sampler does nothing until it runs"]
pub struct Sampler {
    queue: Queue,
    names: Option<Vec<QueueName>>,
    worker: Option<WorkerHandle>,
    every: Duration,
}

impl Sampler {
    /// Samples every queue of the backend, every 15 s.
    pub fn new(queue: &Queue) -> Self {
        Self {
            queue: queue.clone(),
            names: None,
            worker: None,
            every: Duration::from_secs(15),
        }
    }

    /// Samples these queues only.
    pub fn queues(mut self, names: impl IntoIterator<Item = QueueName>) -> Self {
        self.names = Some(names.into_iter().collect());
        self
    }

    /// Samples how this worker stands as well: its saturation and the latencies of its backend.
    pub fn worker(mut self, worker: WorkerHandle) -> Self {
        self.worker = Some(worker);
        self
    }

    /// How often to sample; at least every millisecond.
    pub fn every(mut self, time: Duration) -> Self {
        self.every = time.max(Duration::from_millis(1));
        self
    }

    /// Samples until it is dropped. A sampling that fails is logged at level `WARN`, counted, and
    /// tried again at the next time; the gauges keep their last values.
    pub async fn run(self) {
        let mut ticks = interval(self.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.sample().await {
                counter!(SAMPLE_ERRORS).increment(1);
                tracing::warn!(%error, "the queues could not be sampled");
            }
        }
    }

    /// Samples once.
    ///
    /// # Errors
    /// When the backend could not be asked, or has no counts to give.
    pub async fn sample(&self) -> Result<()> {
        if let Some(worker) = &self.worker {
            sample_worker(worker);
        }
        let inspect = self.queue.inspect()?;
        let all;
        let names = match &self.names {
            Some(names) => names,
            None => {
                all = inspect.queues().await?;
                &all
            }
        };
        for name in names {
            tell(name, &inspect.stats(name).await?);
        }
        Ok(())
    }
}

fn tell(queue: &QueueName, stats: &QueueStats) {
    let depth = |state: String, jobs: u64| {
        let labels = [(QUEUE_LABEL, queue.to_string()), (STATE_LABEL, state)];
        // Exact up to 2^53.
        gauge!(DEPTH, &labels).set(jobs as f64);
    };
    depth(JobState::Ready.to_string(), stats.ready);
    depth(JobState::Scheduled.to_string(), stats.scheduled);
    depth(JobState::Running.to_string(), stats.running);
    depth("dead".into(), stats.dead);
    let oldest = stats.oldest_ready.unwrap_or_default();
    gauge!(OLDEST_AGE, QUEUE_LABEL => queue.to_string()).set(oldest);
}

fn sample_worker(worker: &WorkerHandle) {
    let stats = worker.stats();
    gauge!(SATURATION).set(stats.saturation);
    for (name, latency) in [
        (RESERVE_LATENCY, stats.reserve_latency),
        (SETTLE_LATENCY, stats.settle_latency),
    ] {
        if let Some(latency) = latency {
            gauge!(name).set(latency.average);
        }
    }
}
