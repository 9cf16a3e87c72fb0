use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use goqueue_core::{
    Config, QueueName, Result,
    config::ConfigError,
    driver::{ConnectFuture, Driver, DriverUrl},
};
use serde::Deserialize;

use crate::{MemoryDriver, driver::NAME, store::Shared};

/// How many jobs a store keeps unless it is told otherwise.
pub const DEFAULT_CAPACITY: usize = 1_000_000;
/// The most jobs that a store can be told to keep.
pub const MAX_CAPACITY: usize = 1 << 31;

const ALLOWED_URL: &str = "`memory://` or `memory://NAME`, with a name of 1 to 64 ASCII letters, \
                           digits, `_`, `-` or `.` and nothing after it";

/// The table `[memory]` of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct MemoryConfig {
    /// How many jobs are kept, live ones and dead letters of all queues together: 1 to
    /// [`MAX_CAPACITY`], by default [`DEFAULT_CAPACITY`].
    pub capacity: usize,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            capacity: DEFAULT_CAPACITY,
        }
    }
}

/// What a store is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) capacity: usize,
    pub(crate) retention: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        let retention = Config::default().dead_letter.retention;
        Self {
            capacity: DEFAULT_CAPACITY,
            retention,
        }
    }
}

impl Settings {
    fn of(config: &Config) -> Result<Self> {
        let MemoryConfig { capacity } = config.driver_table(NAME)?;
        if !(1..=MAX_CAPACITY).contains(&capacity) {
            let problem = format!("got {capacity}, allowed is 1 to {MAX_CAPACITY}");
            return Err(ConfigError::new("memory.capacity", problem).into());
        }
        Ok(Self {
            capacity,
            retention: config.dead_letter.retention,
        })
    }

    /// Refuses settings that a store made with `self` would not follow.
    fn check(&self, other: &Self, name: &str) -> Result<(), ConfigError> {
        let differs = |key: &str, given: &dyn std::fmt::Debug, first: &dyn std::fmt::Debug| {
            let problem = format!(
                "got {given:?}, allowed is {first:?}, with which `memory://{name}` is open already"
            );
            Err(ConfigError::new(key, problem))
        };
        if other.capacity != self.capacity {
            return differs("memory.capacity", &other.capacity, &self.capacity);
        }
        if other.retention != self.retention {
            return differs("dead_letter.retention", &other.retention, &self.retention);
        }
        Ok(())
    }
}

/// Checks the URL and the table `[memory]`, for a [`DriverEntry`](goqueue_core::driver::DriverEntry).
///
/// # Errors
/// What connecting would say about them.
pub fn check(config: &Config) -> Result<()> {
    Settings::of(config)?;
    name_in(&config.driver)?;
    Ok(())
}

/// Connects as the configuration says, for a [`DriverEntry`](goqueue_core::driver::DriverEntry).
#[must_use = "a driver connects when this is awaited"]
pub fn connect(config: Config) -> ConnectFuture {
    Box::pin(async move { Ok(Arc::new(MemoryDriver::connect(&config)?) as Arc<dyn Driver>) })
}

/// The store that the configuration names.
pub(crate) fn open(config: &Config) -> Result<Arc<Shared>> {
    let settings = Settings::of(config)?;
    match name_in(&config.driver)? {
        None => Ok(Arc::new(Shared::new(settings))),
        Some(name) => Ok(shared_store(name, settings)?),
    }
}

pub(crate) fn name_in(url: &DriverUrl) -> Result<Option<QueueName>, ConfigError> {
    let refused = || ConfigError::new("driver", format!("got `{url}`, allowed is {ALLOWED_URL}"));
    if url.scheme() != NAME {
        return Err(refused());
    }
    match url.expose().split_once("://") {
        Some((_, "")) => Ok(None),
        // The same rule as for queues serves for stores.
        Some((_, name)) => QueueName::new(name).map(Some).map_err(|_| refused()),
        None => Err(refused()),
    }
}

/// The stores that have a name, as long as anyone is connected to them.
static NAMED: Mutex<BTreeMap<QueueName, Weak<Shared>>> = Mutex::new(BTreeMap::new());

fn shared_store(name: QueueName, settings: Settings) -> Result<Arc<Shared>, ConfigError> {
    let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    named.retain(|_, store| store.strong_count() > 0);
    if let Some(store) = named.get(&name).and_then(Weak::upgrade) {
        store.settings.check(&settings, name.as_str())?;
        return Ok(store);
    }
    let store = Arc::new(Shared::new(settings));
    named.insert(name, Arc::downgrade(&store));
    Ok(store)
}
