//! The partitioned message log in the memory of one process.
//!
//! ```
//! # use futures_util::StreamExt;
//! # use goqueue_core::log::{Log, NewMessage, SubscriptionConfig};
//! # use goqueue_memory::MemoryLog;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> goqueue_core::Result<()> {
//! let log = Log::new(MemoryLog::new());
//! log.publish("orders", [NewMessage::new("17/paid", "{}", "customer-3")]).await?;
//!
//! let config = SubscriptionConfig::new("worker-1", "billing");
//! let mut deliveries = log.subscribe("orders", config).await?;
//! let delivery = deliveries.next().await.expect("a message is there");
//! assert_eq!(delivery.message().id.as_str(), "17/paid");
//! delivery.ack().await?;
//! # Ok(()) }
//! ```

mod backend;
mod collect;
mod deliveries;
mod fetch;
mod listing;
mod members;
mod offsets;
mod partition;
mod publish;
mod reader;
mod settle;
mod state;
mod steer;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use goqueue_core::{
    Config, Error, QueueName, Result,
    log::{LogBackend, LogConnectFuture},
};
use tokio_util::sync::CancellationToken;

use self::state::State;
use crate::{config::name_in, driver::NAME};

/// A log in the memory of this process.
///
/// A clone is the same connection. What a connection's [`close`](LogBackend::close) ends is that
/// connection, with all of its clones; the log goes with its last connection, and every message in
/// it. Time is tokio's, so a paused runtime drives it.
#[derive(Clone)]
pub struct MemoryLog {
    state: Arc<Mutex<State>>,
    closed: CancellationToken,
}

impl MemoryLog {
    /// An empty log of its own.
    #[must_use]
    pub fn new() -> Self {
        Self::on(Arc::new(Mutex::new(State::new())))
    }

    /// The log that `config.driver` names: `memory://` is one of its own, `memory://NAME` the one
    /// that every connection of this process with that name shares, for as long as there is one.
    /// It is no part of the store of jobs of that name.
    ///
    /// # Errors
    /// [`Error::Config`] when the URL cannot be used.
    pub fn connect(config: &Config) -> Result<Self> {
        Ok(match name_in(&config.driver)? {
            None => Self::new(),
            Some(name) => Self::on(shared(name)),
        })
    }

    fn on(state: Arc<Mutex<State>>) -> Self {
        Self {
            state,
            closed: CancellationToken::new(),
        }
    }

    /// Moves the log's clock forward, on top of what tokio's does. For tests; under
    /// `tokio::time::pause`, `tokio::time::advance` does the same and moves tokio's timers as well.
    pub fn advance(&self, by: Duration) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.clock.advance(by);
    }

    /// Runs one call on the log, unless the connection is closed.
    fn call<T>(&self, call: impl FnOnce(&mut State) -> T) -> Result<T> {
        // A panic leaves at worst one message out of its place: better than no log at all.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.closed.is_cancelled() {
            return Err(Error::Closed { driver: NAME });
        }
        state.tick();
        Ok(call(&mut state))
    }
}

impl Default for MemoryLog {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLog")
            .field("closed", &self.closed.is_cancelled())
            .finish_non_exhaustive()
    }
}

/// Connects as the configuration says, for a [`LogEntry`](goqueue_core::log::LogEntry).
#[must_use = "a log connects when this is awaited"]
pub fn connect_log(config: Config) -> LogConnectFuture {
    Box::pin(async move { Ok(Arc::new(MemoryLog::connect(&config)?) as Arc<dyn LogBackend>) })
}

/// The logs that have a name, as long as anyone is connected to them.
static NAMED: Mutex<BTreeMap<QueueName, Weak<Mutex<State>>>> = Mutex::new(BTreeMap::new());

fn shared(name: QueueName) -> Arc<Mutex<State>> {
    let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    named.retain(|_, log| log.strong_count() > 0);
    if let Some(log) = named.get(&name).and_then(Weak::upgrade) {
        return log;
    }
    let log = Arc::new(Mutex::new(State::new()));
    named.insert(name, Arc::downgrade(&log));
    log
}
