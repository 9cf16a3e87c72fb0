use std::{fmt, sync::Arc, time::Duration};

use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::{Layer, Service};

use super::{
    Worker,
    health::HealthCell,
    running::RunningSet,
    settings::Settings,
    settler::Settler,
    shared::{OnComplete, Shared},
    slots::Slots,
    stats::StatsCell,
};
use crate::{
    config::{MAX_CONCURRENCY, MAX_LEASE, MAX_WEIGHT, MIN_LEASE},
    context::StateMap,
    dead_letter::{DeadLetterMode, DeadLetters},
    error::{Error, Result},
    job::{DEFAULT_QUEUE, Handler, JobError, QueueName, check_whole_millis},
    middleware::{JobRequest, JobService},
    queue::Queue,
    registry::{Registration, Registry},
    retry::RetryPolicy,
    telemetry::JobMetrics,
};

type Wrap = Box<dyn FnOnce(JobService) -> JobService + Send>;

/// Sets a [`Worker`] up. Starts from the queue's configuration; each call here overrides it.
#[must_use = "a worker is made by `build`"]
pub struct WorkerBuilder {
    queue: Queue,
    settings: Settings,
    named_queues: Vec<(String, u32)>,
    explicit: Vec<Registration>,
    discover: bool,
    layers: Vec<Wrap>,
    state: StateMap,
    sink: Option<Arc<dyn DeadLetters>>,
    on_complete: Vec<OnComplete>,
}

impl WorkerBuilder {
    pub(super) fn new(queue: Queue) -> Self {
        let config = queue.config();
        let worker = &config.worker;
        let settings = Settings {
            concurrency: worker.concurrency,
            queues: worker
                .queues
                .iter()
                .map(|(name, weight)| (name.clone(), *weight))
                .collect(),
            strict: worker.strict,
            lease: worker.lease,
            shutdown_grace: worker.shutdown_grace,
            timeout: worker.timeout,
            retry: config.retry,
            dead_letter: config.dead_letter.mode,
        };
        Self {
            queue,
            settings,
            named_queues: Vec::new(),
            explicit: Vec::new(),
            discover: true,
            layers: Vec::new(),
            state: StateMap::default(),
            sink: None,
            on_complete: Vec::new(),
        }
    }

    /// How many jobs run at once.
    pub fn concurrency(mut self, jobs: usize) -> Self {
        self.settings.concurrency = jobs;
        self
    }

    /// Serves this queue, with a weight of 1 to 1000. The first call replaces the queues of the
    /// configuration; without any, a worker serves the queues of its job types and `default`.
    ///
    /// Full queues are served in the ratio of their weights.
    pub fn queue(mut self, name: impl Into<String>, weight: u32) -> Self {
        self.named_queues.push((name.into(), weight));
        self
    }

    /// Serves a queue only when those of higher weight are empty; of equal ones the one named first
    /// goes first.
    pub fn strict(mut self) -> Self {
        self.settings.strict = true;
        self
    }

    /// How long a job stays reserved when its worker dies. While the worker lives, the lease is
    /// extended before half of it is used.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.settings.lease = lease;
        self
    }

    /// How long running jobs may go on after the signal to stop.
    pub fn shutdown_grace(mut self, grace: Duration) -> Self {
        self.settings.shutdown_grace = grace;
        self
    }

    /// How long one run may take when its job says nothing.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = Some(timeout);
        self
    }

    /// The retry schedule of jobs that set none.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.settings.retry = policy;
        self
    }

    /// Adds a middleware. The first added is the outermost.
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<JobService> + Send + 'static,
        L::Service: Service<JobRequest, Response = ()> + Send + 'static,
        <L::Service as Service<JobRequest>>::Error: Into<JobError>,
        <L::Service as Service<JobRequest>>::Future: Send + 'static,
    {
        self.layers
            .push(Box::new(move |inner| inner.wrapped_in(&layer)));
        self
    }

    /// Shares a value with all handlers; [`JobContext::state`](crate::JobContext::state) gets it by
    /// its type. One value per type: a second one replaces the first.
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.state.insert(value);
        self
    }

    /// Sends jobs that will not run again here, instead of to the driver's dead letters.
    pub fn dead_letters(mut self, sink: impl DeadLetters) -> Self {
        self.sink = Some(Arc::new(sink));
        self
    }

    /// Whether jobs that will not run again are kept or dropped.
    pub fn dead_letter_mode(mut self, mode: DeadLetterMode) -> Self {
        self.settings.dead_letter = mode;
        self
    }

    /// Calls `callback` for every run, once the backend has confirmed its end. It runs on the
    /// worker's settling task, so it should be quick and must not block. May be given several times.
    pub fn on_job_complete(
        mut self,
        callback: impl Fn(&JobMetrics) + Send + Sync + 'static,
    ) -> Self {
        self.on_complete.push(Box::new(callback));
        self
    }

    /// Adds a job type by hand. Needed for types that are not derived, or derived with
    /// `register = false`.
    pub fn register<T: Handler>(mut self) -> Self {
        self.explicit.push(Registration::of::<T>());
        self
    }

    /// Runs the types given to [`register`](WorkerBuilder::register) and no derived ones beside.
    pub fn only_registered(mut self) -> Self {
        self.discover = false;
        self
    }

    /// Checks everything and makes the worker.
    ///
    /// # Errors
    /// [`Error::DuplicateJob`], [`Error::EmptyRegistry`], [`Error::Invalid`] for a name, and
    /// [`Error::InvalidSetting`] for a value out of range.
    pub fn build(self) -> Result<Worker> {
        let mut registry = if self.discover {
            Registry::discovered()?
        } else {
            Registry::default()
        };
        for registration in self.explicit {
            registry.add(registration)?;
        }
        if registry.is_empty() {
            return Err(Error::EmptyRegistry);
        }
        let mut settings = self.settings;
        settings.queues = queues(&self.named_queues, settings.queues, &registry)?;
        check(&settings)?;

        let (job_names, registry) = (registry.names(), Arc::new(registry));
        let handlers = JobService::handlers(registry);
        // Wrapped from the last to the first, so that the first ends up outermost.
        let service = self
            .layers
            .into_iter()
            .rev()
            .fold(handlers, |inner, wrap| wrap(inner));
        let (settlements, settler) = Settler::new(settings.concurrency);
        let shared = Shared {
            queue: self.queue,
            service,
            job_names,
            state: Arc::new(self.state),
            sink: self.sink,
            on_complete: self.on_complete,
            slots: Slots::new(settings.concurrency),
            running: RunningSet::new(settings.lease),
            tasks: TaskTracker::new(),
            settlements,
            stats: StatsCell::new(),
            health: HealthCell::new(),
            reached: watch::Sender::new(()),
            stop: CancellationToken::new(),
            abort: CancellationToken::new(),
            settings,
        };
        Ok(Worker {
            shared: Arc::new(shared),
            settler,
        })
    }
}

fn queues(
    named: &[(String, u32)],
    configured: Vec<(QueueName, u32)>,
    registry: &Registry,
) -> Result<Vec<(QueueName, u32)>> {
    let mut queues: Vec<(QueueName, u32)> = Vec::new();
    for (name, weight) in named {
        if !(1..=MAX_WEIGHT).contains(weight) {
            return Err(Error::InvalidSetting {
                setting: "queue weight",
                given: format!("{weight} for queue `{name}`"),
                allowed: "1 to 1000",
            });
        }
        let name = QueueName::new(name)?;
        if queues.iter().any(|(known, _)| *known == name) {
            return Err(Error::InvalidSetting {
                setting: "queue",
                given: format!("`{name}` twice"),
                allowed: "each queue once",
            });
        }
        queues.push((name, *weight));
    }
    if !queues.is_empty() {
        return Ok(queues);
    }
    if !configured.is_empty() {
        return Ok(configured);
    }
    let mut names = registry.queues();
    if !names.contains(&DEFAULT_QUEUE) {
        names.push(DEFAULT_QUEUE);
    }
    names
        .into_iter()
        .map(|name| Ok((QueueName::new(name)?, 1)))
        .collect()
}

fn check(settings: &Settings) -> Result<()> {
    if !(1..=MAX_CONCURRENCY).contains(&settings.concurrency) {
        return Err(Error::InvalidSetting {
            setting: "concurrency",
            given: settings.concurrency.to_string(),
            allowed: "1 to 100000",
        });
    }
    if !(MIN_LEASE..=MAX_LEASE).contains(&settings.lease) {
        return Err(Error::InvalidSetting {
            setting: "lease",
            given: format!("{:?}", settings.lease),
            allowed: "100ms to 12h; a job may take longer, since its lease is extended",
        });
    }
    check_whole_millis("timeout", settings.timeout)
}

impl fmt::Debug for WorkerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerBuilder")
            .field("settings", &self.settings)
            .field("queues", &self.named_queues)
            .field("layers", &self.layers.len())
            .finish_non_exhaustive()
    }
}
