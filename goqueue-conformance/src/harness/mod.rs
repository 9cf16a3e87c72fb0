//! What the suite has to know of a backend to test it.

mod in_process;
mod real_time;
mod timing;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use goqueue_core::driver::Driver;
use tokio::runtime::Runtime;

use crate::wrap::{Faults, FaultyDriver};

pub use in_process::InProcess;
pub(crate) use real_time::RealTime;
pub use real_time::real_time_runtime;
pub use timing::Timing;

/// One backend under test.
///
/// The suite makes a harness for each case. Only what has no sensible default is required; a
/// harness for a service is about a page.
#[async_trait]
pub trait Harness: Send + Sync {
    /// Tells it apart from the other harnesses of a test binary, and names it in failures.
    fn name(&self) -> &str;

    /// What a case runs on. An in-process driver wants one thread and a paused clock, a service
    /// several threads and the real one.
    fn runtime(&self) -> Runtime;

    /// The backend's time scale.
    fn timing(&self) -> Timing;

    /// A fresh store that shares nothing with any other: a key prefix, a database, a queue prefix.
    async fn store(&self) -> Store;

    /// One more handle to a store, as another process would open it.
    async fn connect(&self, store: &Store) -> Arc<dyn Driver>;

    /// A handle to a store of its own.
    async fn driver(&self) -> Arc<dyn Driver> {
        self.connect(&self.store().await).await
    }

    /// A handle to a store over a line that can be disturbed. A service puts a proxy in between; by
    /// default the disturbance is simulated in front of the driver.
    async fn faulty(&self, store: &Store) -> (Arc<dyn Driver>, Arc<dyn Faults>) {
        let driver = FaultyDriver::new(self.connect(store).await);
        let faults = driver.faults();
        (Arc::new(driver), Arc::new(faults))
    }

    /// Lets time pass.
    async fn elapse(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// A fresh store on a server that may be restarted without disturbing the cases that run at
    /// the same time: where they share a server, one of its own.
    async fn store_to_restart(&self) -> Store {
        self.store().await
    }

    /// Stops the server of such a store, and starts it again on the same data.
    ///
    /// # Errors
    /// [`NoServer`] where there is none: a backend that lives in the process, or that somebody else
    /// runs.
    async fn restart_server(&self, store: &Store) -> Result<(), NoServer>;

    /// Every password, key and token in the settings the harness connects with.
    fn secrets(&self) -> Vec<String> {
        Vec::new()
    }

    /// Removes what the stores of this harness left behind. Called after the case, failed or not.
    async fn clean_up(&self) {}
}

/// The address of a store within its backend. Text, so that it can be handed to another process.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Store(String);

impl Store {
    /// A store at this address.
    pub fn new(address: impl Into<String>) -> Self {
        Self(address.into())
    }

    /// The address.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// There is no server to restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoServer;

impl fmt::Display for NoServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this backend has no server that could be restarted")
    }
}

impl std::error::Error for NoServer {}
