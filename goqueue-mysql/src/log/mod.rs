//! The partitioned message log in tables of its own.
//!
//! Messages of one partition key are kept in the order in which they were committed; every consumer
//! group reads all of them. Programs use it through [`Log`](goqueue_core::log::Log); [`PublishIn`]
//! publishes inside your own transaction.
//!
//! ```no_run
//! # async fn example() -> goqueue_core::Result<()> {
//! use goqueue_core::{Config, log::{Log, NewMessage}};
//! use goqueue_mysql::log::MysqlLog;
//!
//! let config = Config::default().with_driver("mysql://root@127.0.0.1:3306/shop");
//! let log = Log::new(MysqlLog::connect(&config).await?);
//! log.publish("orders", [NewMessage::new("17/paid", "{}", "customer-3")]).await?;
//! # Ok(()) }
//! ```

mod administer;
mod backend;
mod batch;
mod collect;
mod deliveries;
mod fetch;
mod heartbeats;
mod leases;
mod look;
mod messages;
mod offsets;
#[cfg(test)]
mod plans;
mod publish;
mod settle;
mod sql;
mod transaction;

use std::{fmt, future::Future, sync::Arc, time::Duration};

use goqueue_core::{
    Config, Error, Result,
    log::{LogBackend, LogCapabilities, LogConnectFuture},
};
use sqlx::MySqlPool;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    MysqlDriver,
    connections::{Answer, Session},
    driver::NAME,
    error::Fault,
    registry::Registry,
    shared::Shared,
    sql::Message as Text,
};
pub(crate) use sql::LogStatements;
pub use transaction::PublishIn;

/// The most messages of one publishing.
const MAX_MESSAGES: usize = 1_000;
/// The most bytes of one publishing.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// What a message has in a packet beside twice its bytes, at most.
const MESSAGE_OVERHEAD: usize = 256;

/// The log on MySQL and MariaDB, for [`Log::new`](goqueue_core::log::Log::new).
#[derive(Clone)]
pub struct MysqlLog(Arc<Inner>);

/// Lets [`PublishIn`] find the log that a handle belongs to.
static LOGS: Registry<Inner> = Registry::new();

struct Inner {
    capabilities: LogCapabilities,
    shared: Arc<Shared>,
    sql: LogStatements,
    /// The driver whose connections are used, when they end with the log.
    own: Option<MysqlDriver>,
    closing: CancellationToken,
    in_flight: TaskTracker,
}

impl MysqlLog {
    /// Connects to the server that `config.driver` names, with a pool of the log's own, and brings
    /// the tables up to date where `mysql.auto_migrate` says so.
    ///
    /// # Errors
    /// As for [`MysqlDriver::connect`].
    pub async fn connect(config: &Config) -> Result<Self> {
        let driver = MysqlDriver::connect(config).await?;
        Ok(Self::new(&driver, Some(driver.clone())))
    }

    /// Uses a pool that the program has already, as [`MysqlDriver::with_pool`] does.
    ///
    /// # Errors
    /// As for [`MysqlDriver::with_pool`].
    pub async fn with_pool(pool: MySqlPool, config: &Config) -> Result<Self> {
        let driver = MysqlDriver::with_pool(pool, config).await?;
        Ok(Self::new(&driver, Some(driver.clone())))
    }

    /// Uses the connections of a driver, in the same database and with the same prefix. They end
    /// with the driver, not with the log.
    #[must_use]
    pub fn beside(driver: &MysqlDriver) -> Self {
        Self::new(driver, None)
    }

    fn new(driver: &MysqlDriver, own: Option<MysqlDriver>) -> Self {
        let shared = Arc::clone(driver.shared());
        let inner = Arc::new(Inner {
            capabilities: capabilities(shared.capabilities.max_payload),
            sql: LogStatements::new(&shared.settings.prefix),
            shared,
            own,
            closing: CancellationToken::new(),
            in_flight: TaskTracker::new(),
        });
        LOGS.register(&inner.capabilities, &inner);
        Self(inner)
    }
}

/// Connects as the configuration says, for a [`LogEntry`](goqueue_core::log::LogEntry).
#[must_use = "a log connects when this is awaited"]
pub fn connect(config: Config) -> LogConnectFuture {
    Box::pin(async move {
        let log = MysqlLog::connect(&config).await?;
        Ok(Arc::new(log) as Arc<dyn LogBackend>)
    })
}

/// What the log can do where one job may have this many bytes. A message is sent as text, in twice
/// as many.
fn capabilities(max_job: usize) -> LogCapabilities {
    let max_payload = max_job / 2;
    LogCapabilities {
        driver: NAME,
        durable: true,
        max_messages: MAX_MESSAGES,
        max_bytes: MAX_BYTES.min(max_payload.saturating_sub(MAX_MESSAGES * MESSAGE_OVERHEAD)),
        max_payload,
        transactional_publish: true,
    }
}

impl Inner {
    /// Makes a call, unless the log is closed.
    async fn call<T>(
        &self,
        operation: &'static str,
        call: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T> {
        if self.closing.is_cancelled() {
            return Err(Error::Closed { driver: NAME });
        }
        let _in_flight = self.in_flight.token();
        self.shared.call(operation, call).await
    }

    async fn session(&self) -> Result<Session<'_>, Fault> {
        self.shared.connections.session(Duration::ZERO).await
    }

    /// Sends statements after which no transaction is open, again when others were in the way.
    async fn ask(&self, text: Text) -> Result<Vec<Answer>, Fault> {
        self.shared
            .settled(|| async { self.session().await?.finish(text.clone()).await })
            .await
    }
}

impl fmt::Debug for MysqlLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The connection options hold the password.
        f.debug_struct("MysqlLog")
            .field("prefix", &self.0.shared.settings.prefix)
            .finish_non_exhaustive()
    }
}
