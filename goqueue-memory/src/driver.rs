use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use goqueue_core::{
    Config, Error, QueueName, Result,
    driver::{
        BatchLimits, Capabilities, Clock, DelayLimits, Driver, Inspect, InspectCapability, Lease,
        LeaseOutcome, Maintenance, NewJob, PushOutcome, ReserveRequest, Reserved, Settlement,
        UniqueCapability,
    },
};
use tokio_util::sync::CancellationToken;

use crate::{
    config::{MAX_CAPACITY, Settings, open},
    store::{Shared, Store},
};

pub(crate) const NAME: &str = "memory";

/// The largest encoded job, in bytes: 64 MiB.
pub(crate) const MAX_PAYLOAD: usize = 64 * 1024 * 1024;

static CAPABILITIES: Capabilities = Capabilities {
    driver: NAME,
    durable: false,
    clock: Clock::Process,
    delay: DelayLimits {
        max: None,
        granularity: Duration::from_millis(1),
    },
    batch: BatchLimits {
        jobs: 10_000,
        bytes: usize::MAX,
        full_call: 1,
    },
    max_payload: MAX_PAYLOAD,
    ordering: true,
    unique: UniqueCapability::Exact,
    transactional_enqueue: false,
    release_without_attempt: true,
    stale_settle: true,
    inspect: InspectCapability::Full,
};

/// Jobs kept in the memory of this process.
///
/// A clone is the same connection to the same store. What a connection's
/// [`close`](Driver::close) ends is that connection, with all of its clones; the store goes with its
/// last connection, and every job in it.
#[derive(Clone)]
pub struct MemoryDriver {
    pub(crate) shared: Arc<Shared>,
    pub(crate) closed: CancellationToken,
}

impl MemoryDriver {
    /// An empty store of its own, with the default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::on(Arc::new(Shared::new(Settings::default())))
    }

    /// An empty store of its own, with other settings.
    pub fn builder() -> MemoryDriverBuilder {
        MemoryDriverBuilder {
            settings: Settings::default(),
        }
    }

    /// The store that `config.driver` names: `memory://` is one of its own, `memory://NAME` the one
    /// that every connection of this process with that name shares, for as long as there is one.
    ///
    /// Reads the table `[memory]` ([`MemoryConfig`](crate::MemoryConfig)) and
    /// `dead_letter.retention`. All connections of one name must say the same.
    ///
    /// # Errors
    /// [`Error::Config`] names the key, what was given and what is allowed.
    pub fn connect(config: &Config) -> Result<Self> {
        Ok(Self::on(open(config)?))
    }

    fn on(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            closed: CancellationToken::new(),
        }
    }

    /// Moves the store's clock forward, on top of what tokio's does: jobs become due, leases and
    /// retention run out, and whoever waits in `reserve` notices. For tests; under
    /// `tokio::time::pause`, `tokio::time::advance` does the same and moves tokio's timers as well.
    pub fn advance(&self, by: Duration) {
        self.shared.advance(by);
    }

    /// Runs one call on the store, unless the connection is closed.
    pub(crate) fn call<T>(&self, call: impl FnOnce(&mut Store) -> T) -> Result<T> {
        self.shared.with(|store| {
            // Asked under the lock, so that nothing happens any more once `close` has had it.
            if self.closed.is_cancelled() {
                return Err(Error::Closed { driver: NAME });
            }
            Ok(call(store))
        })
    }
}

impl Default for MemoryDriver {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryDriver")
            .field("settings", &self.shared.settings)
            .field("closed", &self.closed.is_cancelled())
            .finish_non_exhaustive()
    }
}

/// Makes a [`MemoryDriver`] with a store of its own.
#[must_use = "nothing is made before `build`"]
#[derive(Clone, Copy, Debug)]
pub struct MemoryDriverBuilder {
    settings: Settings,
}

impl MemoryDriverBuilder {
    /// How many jobs are kept, live ones and dead letters of all queues together: 1 to
    /// [`MAX_CAPACITY`]. More are refused.
    pub fn capacity(mut self, jobs: usize) -> Self {
        self.settings.capacity = jobs;
        self
    }

    /// How long dead letters are kept.
    pub fn retention(mut self, retention: Duration) -> Self {
        self.settings.retention = retention;
        self
    }

    /// The driver.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] when the capacity is out of range.
    pub fn build(self) -> Result<MemoryDriver> {
        if !(1..=MAX_CAPACITY).contains(&self.settings.capacity) {
            return Err(Error::InvalidSetting {
                setting: "capacity",
                given: self.settings.capacity.to_string(),
                allowed: "1 to 2147483648",
            });
        }
        Ok(MemoryDriver::on(Arc::new(Shared::new(self.settings))))
    }
}

#[async_trait]
impl Driver for MemoryDriver {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    async fn ping(&self) -> Result<()> {
        self.call(|_| ())
    }

    async fn push(&self, jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        self.call(|store| store.push(jobs))
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        self.take_or_wait(request).await
    }

    async fn extend(&self, leases: Vec<Lease>, by: Duration) -> Result<Vec<LeaseOutcome>> {
        self.call(|store| store.extend(&leases, by))
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        self.call(|store| store.settle(settlements))
    }

    async fn maintain(&self, queues: &[QueueName]) -> Result<Maintenance> {
        self.call(|store| store.maintain(queues))
    }

    fn inspect(&self) -> Option<&dyn Inspect> {
        Some(self)
    }

    async fn close(&self) -> Result<()> {
        self.closed.cancel();
        // Waits for the call that has the lock now.
        self.shared.with(|_| ());
        Ok(())
    }
}
