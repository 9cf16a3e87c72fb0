//! Getting jobs into a backend.

mod bulk;
mod enqueue;
mod health;
mod hook;
mod payload;
mod request;

use std::{sync::Arc, time::Duration};

use crate::{
    config::Config,
    driver::{Capabilities, Driver, DriverUrl, Inspect},
    error::{Error, Result},
    job::Job,
};

pub use bulk::{BulkError, EnqueueAll};
pub use enqueue::{Enqueue, Enqueued};
pub use health::QueueHealth;
pub use hook::{EnqueueHook, EnqueuedJob, HookFn, IncomingJob, hook_fn};
pub use payload::RawPayload;

use hook::Hooks;

/// A handle to one backend. Cheap to clone and to share.
#[derive(Clone, Debug)]
pub struct Queue(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    driver: Arc<dyn Driver>,
    config: Config,
    hooks: Hooks,
}

impl Queue {
    /// Connects to the backend that the configuration names, through the drivers compiled in.
    ///
    /// # Errors
    /// [`Error::UnknownDriver`] and [`Error::DriverNotCompiled`] name the scheme and what would do;
    /// otherwise what the driver says.
    pub async fn connect(config: &Config) -> Result<Self> {
        let driver = config.driver.connect(config).await?;
        Ok(Self(Arc::new(Inner {
            driver,
            config: config.clone(),
            hooks: Hooks::default(),
        })))
    }

    /// Connects to a URL, with the defaults for everything else.
    ///
    /// # Errors
    /// As for [`connect`](Queue::connect).
    pub async fn connect_url(url: impl AsRef<str>) -> Result<Self> {
        Self::connect(&Config::default().with_driver(DriverUrl::new(url))).await
    }

    /// A queue on any driver, goqueue's or your own, with the default settings.
    pub fn new(driver: impl Driver) -> Self {
        Self::from_shared(Arc::new(driver))
    }

    /// A queue on a driver that is shared with others.
    #[must_use]
    pub fn from_shared(driver: Arc<dyn Driver>) -> Self {
        Self(Arc::new(Inner {
            driver,
            config: Config::default(),
            hooks: Hooks::default(),
        }))
    }

    /// The same backend with other settings; the configuration's `driver` is not looked at.
    #[must_use]
    pub fn with_config(&self, config: Config) -> Self {
        Self(Arc::new(Inner {
            driver: Arc::clone(&self.0.driver),
            config,
            hooks: self.0.hooks.clone(),
        }))
    }

    /// The same backend with one more hook, which sees every job that is enqueued through the handle
    /// returned here and its clones, [`EnqueueAll`] and
    /// [`into_new_job`](Enqueue::into_new_job) included. Handles that there were before stay as they
    /// are. A worker built on the handle passes it on to its handlers.
    #[must_use]
    pub fn with_hook(&self, hook: impl EnqueueHook) -> Self {
        Self(Arc::new(Inner {
            driver: Arc::clone(&self.0.driver),
            config: self.0.config.clone(),
            hooks: self.0.hooks.with(hook),
        }))
    }

    /// Stores a job. Await the builder that this returns:
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use goqueue_core::{Error, Job, Queue};
    /// # async fn example(queue: Queue, job: impl Job) -> Result<(), Error> {
    /// queue.enqueue(job).delay(Duration::from_secs(300)).unique_key("welcome-2").await?;
    /// # Ok(()) }
    /// ```
    #[must_use = "a job is enqueued when this is awaited"]
    pub fn enqueue<J: Job>(&self, job: J) -> Enqueue {
        Enqueue::typed(self.clone(), job)
    }

    /// Stores a job by name, for callers that do not have its type.
    ///
    /// ```
    /// # use goqueue_core::{Error, Queue};
    /// # async fn example(queue: Queue) -> Result<(), Error> {
    /// queue.enqueue_raw("mail.welcome", serde_json::json!({ "user_id": 1 })).queue("mail").await?;
    /// queue.enqueue_raw("mail.welcome", r#"{ "user_id": 2 }"#).queue("mail").await?;
    /// # Ok(()) }
    /// ```
    #[must_use = "a job is enqueued when this is awaited"]
    pub fn enqueue_raw(&self, name: impl Into<String>, json: impl Into<RawPayload>) -> Enqueue {
        Enqueue::raw(self.clone(), name.into(), json.into())
    }

    /// Stores any number of jobs, split to what the backend takes per call. See [`EnqueueAll`] for
    /// what it answers.
    #[must_use = "the jobs are enqueued when this is awaited"]
    pub fn enqueue_all<J: Job>(&self, jobs: impl IntoIterator<Item = J>) -> EnqueueAll {
        EnqueueAll::new(self.clone(), jobs)
    }

    /// What the backend can do.
    #[must_use]
    pub fn capabilities(&self) -> &Capabilities {
        self.0.driver.capabilities()
    }

    /// The backend.
    #[must_use]
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.0.driver
    }

    /// The settings this handle was made with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// The administrative calls.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the backend has none.
    pub fn inspect(&self) -> Result<&dyn Inspect> {
        self.0
            .driver
            .inspect()
            .ok_or_else(|| self.unsupported("inspection"))
    }

    /// Asks the backend for a sign of life, for as long as an enqueueing would wait.
    ///
    /// # Errors
    /// The reason why it cannot serve.
    pub async fn ping(&self) -> Result<()> {
        self.within_deadline("ping", self.0.driver.ping()).await
    }

    /// Pings the backend and tells how long the answer took. For readiness checks and dashboards; a
    /// worker's own view of its backend is [`WorkerHandle::health`](crate::WorkerHandle::health).
    pub async fn health(&self) -> QueueHealth {
        let asked = tokio::time::Instant::now();
        let answer = self.ping().await;
        QueueHealth {
            driver: self.capabilities().driver,
            latency: asked.elapsed(),
            error: answer.err(),
        }
    }

    /// Refuses new calls on every handle of this backend and waits for those in flight.
    ///
    /// # Errors
    /// When the connection could not be ended in an orderly way.
    pub async fn close(&self) -> Result<()> {
        self.0.driver.close().await
    }

    fn hooks(&self) -> &Hooks {
        &self.0.hooks
    }

    fn unsupported(&self, capability: &'static str) -> Error {
        Error::Unsupported {
            driver: self.capabilities().driver,
            capability,
        }
    }

    async fn within_deadline<T>(
        &self,
        operation: &'static str,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let after: Duration = self.0.config.enqueue_timeout;
        match tokio::time::timeout(after, call).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::Timeout {
                driver: self.capabilities().driver,
                operation,
                after,
            }),
        }
    }
}
