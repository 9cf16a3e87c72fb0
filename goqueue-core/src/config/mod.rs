//! Settings: a TOML file, then `GOQUEUE_*` variables, over defaults.

mod duration;
mod error;
mod load;
mod raw;
mod settings;

use std::{collections::BTreeMap, time::Duration};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    dead_letter::DeadLetterMode,
    driver::DriverUrl,
    error::{Error, Result},
    job::QueueName,
    retry::RetryPolicy,
};

pub use duration::{deserialize as deserialize_duration, option as deserialize_duration_opt};
pub use error::ConfigError;
pub use settings::Setting;

/// The file that [`Config::load`] reads when `GOQUEUE_CONFIG` names no other.
pub const DEFAULT_FILE: &str = "goqueue.toml";
/// Names another file for [`Config::load`].
pub const FILE_VARIABLE: &str = "GOQUEUE_CONFIG";
/// The most jobs that one worker may run at once.
pub const MAX_CONCURRENCY: usize = 100_000;
/// The shortest lease.
pub const MIN_LEASE: Duration = Duration::from_millis(100);
/// The longest lease: what SQS allows, so that a setting fits every backend. A job may take longer,
/// since its lease is extended while it runs.
pub const MAX_LEASE: Duration = Duration::from_secs(12 * 3600);
/// The largest weight of a queue.
pub const MAX_WEIGHT: u32 = 1_000;

/// What stands in place of a file for what the program itself sets.
const BY_PROGRAM: &str = "the program";

/// Everything that can be set from outside the program.
///
/// ```
/// # use goqueue_core::Config;
/// let config = Config::from_toml(r#"
///     driver = "memory://"
///     [worker]
///     concurrency = 8
///     lease = "60s"
///     queues = { critical = 6, default = 3, low = 1 }
/// "#)?;
/// assert_eq!(config.worker.concurrency, 8);
///
/// let error = Config::from_toml("[worker]\nlease = 60").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "config key `worker.lease`: invalid type: integer `60`, expected a duration with its unit, \
///      such as \"500ms\", \"30s\", \"5m\" or \"1h 30m\"",
/// );
/// # Ok::<(), goqueue_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Which backend, as a URL. `memory://` unless told otherwise.
    pub driver: DriverUrl,
    /// How long an enqueueing waits for the backend's answer.
    pub enqueue_timeout: Duration,
    /// How workers run.
    pub worker: WorkerConfig,
    /// The retry schedule of jobs that set none.
    pub retry: RetryPolicy,
    /// What becomes of jobs that will not run again.
    pub dead_letter: DeadLetterConfig,
    /// What only one driver has, by driver.
    tables: DriverTables,
    sources: settings::Sources,
}

/// How a worker runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WorkerConfig {
    /// How many jobs run at once.
    pub concurrency: usize,
    /// How long a reservation holds when its worker dies. Extended while the job runs.
    pub lease: Duration,
    /// How long running jobs may go on after the signal to stop.
    pub shutdown_grace: Duration,
    /// How long one run may take when the job says nothing. `None` is no limit.
    pub timeout: Option<Duration>,
    /// The queues to serve and their weights. Empty: those of the worker's job types, and `default`.
    pub queues: BTreeMap<QueueName, u32>,
    /// Serve a queue only when those of higher weight are empty.
    pub strict: bool,
}

/// What becomes of jobs that will not run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetterConfig {
    /// Keep or drop.
    pub mode: DeadLetterMode,
    /// How long the driver keeps them.
    pub retention: Duration,
}

/// The tables that belong to one driver each, not yet read. They may hold secrets.
#[derive(Clone, Default)]
struct DriverTables(BTreeMap<String, Value>);

impl std::fmt::Debug for DriverTables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            driver: DriverUrl::new("memory://"),
            enqueue_timeout: Duration::from_secs(10),
            worker: WorkerConfig::default(),
            retry: RetryPolicy::default(),
            dead_letter: DeadLetterConfig::default(),
            tables: DriverTables::default(),
            sources: settings::Sources::default(),
        }
    }
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self {
            concurrency: 32,
            lease: Duration::from_secs(60),
            shutdown_grace: Duration::from_secs(30),
            timeout: None,
            queues: BTreeMap::new(),
            strict: false,
        }
    }
}

impl Default for DeadLetterConfig {
    fn default() -> Self {
        Self {
            mode: DeadLetterMode::Store,
            retention: Duration::from_secs(14 * 24 * 3600),
        }
    }
}

impl Config {
    /// Reads `goqueue.toml` (or the file that `GOQUEUE_CONFIG` names), then `GOQUEUE_*` variables.
    ///
    /// A missing `goqueue.toml` is no error; a missing file that was named is. Every key is also a
    /// variable: `worker.concurrency` is `GOQUEUE_WORKER__CONCURRENCY`. Variables that begin with
    /// `GOQUEUE_TEST_` are left to tests.
    ///
    /// # Errors
    /// [`ConfigError`] names the key, where it was set, what was given and what is allowed.
    pub fn load() -> Result<Self> {
        load::from_environment(std::env::vars_os(), None)
    }

    /// Reads the file `path`, then `GOQUEUE_*` variables but for `GOQUEUE_CONFIG`.
    ///
    /// # Errors
    /// As for [`load`](Config::load).
    pub fn load_file(path: impl AsRef<std::path::Path>) -> Result<Self> {
        load::from_environment(std::env::vars_os(), Some(path.as_ref()))
    }

    /// Reads one file and no variables.
    ///
    /// # Errors
    /// As for [`load`](Config::load).
    pub fn from_file(path: impl AsRef<std::path::Path>) -> Result<Self> {
        load::from_file(path.as_ref())
    }

    /// Reads TOML text.
    ///
    /// # Errors
    /// As for [`load`](Config::load).
    pub fn from_toml(text: &str) -> Result<Self> {
        load::from_toml(text)
    }

    /// The same settings on another backend.
    #[must_use]
    pub fn with_driver(mut self, url: impl Into<DriverUrl>) -> Self {
        self.driver = url.into();
        self.sources.add("driver", BY_PROGRAM);
        self
    }

    /// An error about a setting, with the file or the variable that set it. Drivers do not know that.
    pub(crate) fn located(&self, error: Error) -> Error {
        match error {
            Error::Config(mut error) if error.origin.is_none() => {
                let origin = self.sources.of(&error.key);
                error.origin = origin.filter(|origin| origin != BY_PROGRAM);
                Error::Config(error)
            }
            error => error,
        }
    }

    /// Reads the table that only driver `name` has; an absent one is the default.
    ///
    /// # Errors
    /// As for [`load`](Config::load). A value whose key sounds like a secret is not quoted.
    pub fn driver_table<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T> {
        match self.tables.0.get(name) {
            None => Ok(T::default()),
            Some(table) => Ok(load::read(table.clone(), name, &|key| {
                self.sources.of(key)
            })?),
        }
    }
}
