use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use goqueue_core::{
    Config, QueueName, Result,
    driver::{
        BatchLimits, Capabilities, Clock, DelayLimits, Driver, Gate, Inspect, InspectCapability,
        Lease, LeaseOutcome, Maintenance, NewJob, PushOutcome, ReserveRequest, Reserved,
        Settlement, UniqueCapability, Waiters,
    },
};
use redis::Cmd;

use crate::{
    config::Settings,
    connection::{self, Connection},
    error::{Operation, to_error},
    group::Groups,
    keys::Keys,
    registry::Registry,
    server,
    wake::Wakeups,
};

pub(crate) const NAME: &str = "redis";

/// The most jobs and bytes of one script call, so that it does not keep the server from others; and
/// few enough that whoever enqueues many makes some ready while the server stores others.
pub(crate) const BATCH: BatchLimits = BatchLimits {
    jobs: 250,
    bytes: 4 * 1024 * 1024,
    full_call: 1,
};

/// What the driver can do, on any server.
pub static CAPABILITIES: Capabilities = Capabilities {
    driver: NAME,
    durable: true,
    clock: Clock::Server,
    delay: DelayLimits {
        max: None,
        granularity: Duration::from_millis(1),
    },
    batch: BATCH,
    max_payload: 8 * 1024 * 1024,
    ordering: true,
    unique: UniqueCapability::Exact,
    transactional_enqueue: false,
    release_without_attempt: true,
    stale_settle: true,
    inspect: InspectCapability::Full,
};

/// Jobs kept by Redis, Valkey or a Redis Cluster.
///
/// A clone is the same connection; [`close`](Driver::close) ends it with all of its clones. It
/// belongs to the tokio runtime on which it was made.
#[derive(Clone)]
pub struct RedisDriver(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) connection: Connection,
    pub(crate) keys: Keys,
    pub(crate) registry: Registry,
    pub(crate) groups: Groups,
    pub(crate) wakeups: Wakeups,
    pub(crate) waiters: Waiters,
    pub(crate) gate: Gate,
    pub(crate) retention: Duration,
    address: String,
    eviction_policy: Option<String>,
}

impl RedisDriver {
    /// Connects to the server or cluster that `config.driver` names.
    ///
    /// The forms of the URL are `redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE]`,
    /// `redis-cluster://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]…]`, both with a second `s` after
    /// `redis` for TLS, and `redis+unix:///PATH[?db=DATABASE][&user=USER][&pass=PASSWORD]`. Reads
    /// the table `[redis]` ([`RedisConfig`](crate::RedisConfig)) and `dead_letter.retention`.
    ///
    /// A `maxmemory-policy` other than `noeviction` is reported with a warning.
    ///
    /// # Errors
    /// [`Error::Config`](goqueue_core::Error::Config) names the key, what was given and what is
    /// allowed. When the server cannot be reached or refuses the login, the error names the server.
    pub async fn connect(config: &Config) -> Result<Self> {
        let settings = Settings::of(config)?;
        let connection = Connection::open(&settings).await?;
        let eviction_policy = server::examine(&connection, &settings.address).await?;
        let clients = connection::clients(&settings)
            .map_err(|error| to_error(Operation::Connect, &error, settings.connect_timeout))?;
        let keys = Keys::new(&settings.prefix);
        Ok(Self(Arc::new(Inner {
            connection,
            registry: Registry::new(keys.registry()),
            keys,
            groups: Groups::new(),
            wakeups: Wakeups::start(clients, settings.response_timeout),
            waiters: Waiters::new(),
            gate: Gate::new(NAME),
            retention: settings.retention,
            address: settings.address.to_string(),
            eviction_policy,
        })))
    }

    /// What the server does when it is full, as it said when the driver connected; `None` where it
    /// does not tell. Anything but `noeviction` loses jobs then.
    #[must_use]
    pub fn eviction_policy(&self) -> Option<&str> {
        self.0.eviction_policy.as_deref()
    }
}

impl fmt::Debug for RedisDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisDriver")
            .field("address", &self.0.address)
            .field("closed", &self.0.gate.closed().is_cancelled())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Driver for RedisDriver {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    async fn ping(&self) -> Result<()> {
        let _pass = self.0.gate.enter()?;
        let mut cmd = Cmd::new();
        cmd.arg("PING");
        self.0.connection.send(Operation::Ping, &cmd).await?;
        Ok(())
    }

    async fn push(&self, jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        let _pass = self.0.gate.enter()?;
        self.0.push(jobs).await
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        let _pass = self.0.gate.enter()?;
        self.0.reserve(&request).await
    }

    async fn extend(&self, leases: Vec<Lease>, by: Duration) -> Result<Vec<LeaseOutcome>> {
        let _pass = self.0.gate.enter()?;
        self.0.extend(&leases, by).await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        let _pass = self.0.gate.enter()?;
        self.0.settle(&settlements).await
    }

    async fn maintain(&self, queues: &[QueueName]) -> Result<Maintenance> {
        let _pass = self.0.gate.enter()?;
        self.0.maintain(queues).await
    }

    fn inspect(&self) -> Option<&dyn Inspect> {
        Some(self)
    }

    async fn close(&self) -> Result<()> {
        self.0.gate.close().await;
        self.0.wakeups.stop();
        Ok(())
    }
}
