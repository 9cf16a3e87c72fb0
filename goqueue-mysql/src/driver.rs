use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use goqueue_core::{
    Config, QueueName, Result,
    driver::{
        BatchLimits, Capabilities, Clock, DelayLimits, Driver, Inspect, InspectCapability, Lease,
        LeaseOutcome, Maintenance, NewJob, PushOutcome, ReserveRequest, Reserved, Settlement,
        UniqueCapability,
    },
};
use sqlx::{MySqlConnection, MySqlPool};
use tokio::time::timeout;

use crate::{
    config::{self, MysqlConfig},
    connections::{Connections, Own, Session, dial},
    error::Fault,
    inspect::MysqlInspect,
    migrate::{self, Server},
    shared::Shared,
};

/// The driver's name, its scheme and its Cargo feature.
pub(crate) const NAME: &str = "mysql";

/// The most bytes one encoded job may have, on a server whose `max_allowed_packet` allows it.
pub const MAX_PAYLOAD: usize = 8 * 1024 * 1024;
/// What else is in a packet beside the body.
const PACKET_OVERHEAD: usize = 16 * 1024;
/// The most jobs of one push.
const MAX_JOBS: usize = 1_000;
/// The most bytes of one push.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The MySQL and MariaDB driver.
///
/// ```no_run
/// # async fn example() -> goqueue_core::Result<()> {
/// use goqueue_core::{Config, Queue};
/// use goqueue_mysql::MysqlDriver;
///
/// let config = Config::default().with_driver("mysql://root@127.0.0.1:3306/shop");
/// let queue = Queue::new(MysqlDriver::connect(&config).await?);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct MysqlDriver {
    shared: Arc<Shared>,
    inspect: MysqlInspect,
}

impl MysqlDriver {
    /// Connects to the server that `config.driver` names, with a pool of the driver's own, and
    /// brings the tables up to date where `mysql.auto_migrate` says so.
    ///
    /// # Errors
    /// [`Error::Config`](goqueue_core::Error::Config) for a URL or a setting that cannot be used,
    /// and for tables that are not up to date; otherwise what the server says.
    pub async fn connect(config: &Config) -> Result<Self> {
        let settings = MysqlConfig::of(config)?;
        let options = config::connect_options(&config.driver)?;
        let longest = settings.acquire_timeout;
        let connected = dial(&options, longest).await;
        let mut connection = connected.map_err(|fault| fault.during("connect"))?;
        let server = prepare(&mut connection, &settings).await?;
        drop(connection);
        let own = Own::new(options, settings.max_connections, longest);
        Ok(Self::new(
            Connections::Own(Box::new(own)),
            settings,
            config,
            &server,
        ))
    }

    /// Uses a pool that the program has already. `config.driver` is not looked at, and neither is
    /// `mysql.max_connections`.
    ///
    /// # Errors
    /// As for [`connect`](MysqlDriver::connect). A pool whose sessions do not commit by themselves
    /// is refused.
    pub async fn with_pool(pool: MySqlPool, config: &Config) -> Result<Self> {
        let settings = MysqlConfig::of(config)?;
        let connections = Connections::Given(pool);
        let server = {
            let session = connections.session(Duration::ZERO).await;
            let mut session: Session<'_> = session.map_err(|fault| fault.during("connect"))?;
            let connection = session
                .connection()
                .map_err(|fault| fault.during("connect"))?;
            let server = prepare(connection, &settings).await?;
            session.settled();
            server
        };
        Ok(Self::new(connections, settings, config, &server))
    }

    fn new(
        connections: Connections,
        settings: MysqlConfig,
        config: &Config,
        server: &Server,
    ) -> Self {
        let capabilities = capabilities(server.max_packet);
        let retention = config.dead_letter.retention;
        let shared = Arc::new(Shared::new(capabilities, settings, retention, connections));
        Self {
            inspect: MysqlInspect::new(Arc::clone(&shared)),
            shared,
        }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

async fn prepare(connection: &mut MySqlConnection, settings: &MysqlConfig) -> Result<Server> {
    let work = migrate::prepare(connection, settings);
    let answer = timeout(settings.answer_timeout, work).await;
    let answer = answer.unwrap_or(Err(Fault::Silent(settings.answer_timeout)));
    answer.map_err(|fault| fault.during("connect"))
}

/// What the driver can do on a server whose `max_allowed_packet` is this many bytes.
#[must_use]
pub fn capabilities(max_packet: usize) -> Capabilities {
    let max_payload = MAX_PAYLOAD.min(max_packet.saturating_sub(PACKET_OVERHEAD));
    Capabilities {
        driver: NAME,
        durable: true,
        clock: Clock::Server,
        delay: DelayLimits {
            max: None,
            granularity: Duration::from_millis(1),
        },
        batch: BatchLimits {
            jobs: MAX_JOBS,
            bytes: MAX_BYTES.min(max_payload),
            full_call: 1,
        },
        max_payload,
        ordering: true,
        unique: UniqueCapability::Exact,
        transactional_enqueue: true,
        release_without_attempt: true,
        stale_settle: true,
        inspect: InspectCapability::Full,
    }
}

#[async_trait]
impl Driver for MysqlDriver {
    fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    async fn ping(&self) -> Result<()> {
        self.shared.call("ping", self.shared.ping()).await
    }

    async fn push(&self, jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        self.shared.call("push", self.shared.push(&jobs)).await
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        self.shared
            .call("reserve", self.shared.reserve(&request))
            .await
    }

    async fn extend(&self, leases: Vec<Lease>, by: Duration) -> Result<Vec<LeaseOutcome>> {
        self.shared
            .call("extend", self.shared.extend(&leases, by))
            .await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        self.shared
            .call("settle", self.shared.settle(&settlements))
            .await
    }

    async fn maintain(&self, queues: &[QueueName]) -> Result<Maintenance> {
        self.shared
            .call("maintain", self.shared.maintain(queues))
            .await
    }

    fn inspect(&self) -> Option<&dyn Inspect> {
        Some(&self.inspect)
    }

    async fn close(&self) -> Result<()> {
        self.shared.closing.cancel();
        self.shared.in_flight.close();
        self.shared.in_flight.wait().await;
        self.shared.connections.close().await;
        Ok(())
    }
}

impl fmt::Debug for MysqlDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The connection options hold the password.
        f.debug_struct("MysqlDriver")
            .field("prefix", &self.shared.settings.prefix)
            .finish_non_exhaustive()
    }
}
