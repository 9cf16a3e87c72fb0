use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use aws_sdk_sqs::Client;
use goqueue_core::{
    Config, QueueName, Result,
    driver::{
        BatchLimits, Capabilities, Clock, DelayLimits, Driver, Gate, Inspect, InspectCapability,
        Lease, LeaseOutcome, Maintenance, NewJob, PushOutcome, ReserveRequest, Reserved,
        Settlement, UniqueCapability,
    },
};
use tokio_util::task::TaskTracker;

use crate::{
    clock::ServerClock,
    config::Settings,
    connection,
    dead_letters::SqsDeadLetters,
    limits::{DEDUPLICATION, MAX_BATCH, MAX_MESSAGE, RESERVED},
    push::Recent,
    queues::{Queues, RedrivePolicy},
};

pub(crate) const NAME: &str = "sqs";

/// Jobs in one push, in calls of ten each.
const PUSH: usize = 100;

/// What the driver can do on standard queues.
pub static STANDARD: Capabilities = Capabilities {
    driver: NAME,
    durable: true,
    clock: Clock::Server,
    delay: DelayLimits {
        max: None,
        granularity: Duration::from_secs(1),
    },
    batch: BatchLimits {
        jobs: PUSH,
        bytes: PUSH / MAX_BATCH * MAX_MESSAGE,
        full_call: MAX_BATCH,
    },
    max_payload: MAX_MESSAGE - RESERVED,
    ordering: false,
    unique: UniqueCapability::None,
    transactional_enqueue: false,
    release_without_attempt: true,
    stale_settle: false,
    inspect: InspectCapability::CountsAndDeadLetters,
};

/// What the driver can do on FIFO queues. A job that is not due yet holds its ordering key.
pub static FIFO: Capabilities = Capabilities {
    ordering: true,
    unique: UniqueCapability::Window(DEDUPLICATION),
    // To give an attempt back is to send the job again, which would cost it its place.
    release_without_attempt: false,
    ..STANDARD
};

/// Jobs kept by Amazon SQS.
///
/// A clone is the same driver; [`close`](Driver::close) ends it with all of its clones. It belongs
/// to the tokio runtime on which it was made.
#[derive(Clone)]
pub struct SqsDriver(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) client: Client,
    pub(crate) settings: Settings,
    pub(crate) region: String,
    pub(crate) queues: Queues,
    pub(crate) clock: ServerClock,
    pub(crate) gate: Gate,
    /// Long polls that nobody may be waiting for any more, and other work that is ended once begun.
    pub(crate) polls: TaskTracker,
    pub(crate) recent: Recent,
}

impl SqsDriver {
    /// Connects to the service in the region that `config.driver` names.
    ///
    /// The form of the URL is `sqs://[REGION]/[PREFIX][?OPTION=VALUE&…]`. Reads the table `[sqs]`
    /// ([`SqsConfig`](crate::SqsConfig)) and `dead_letter.retention`.
    ///
    /// # Errors
    /// [`Error::Config`](goqueue_core::Error::Config) names the key, what was given and what is
    /// allowed. When the service cannot be reached or refuses the credentials, the error says so.
    pub async fn connect(config: &Config) -> Result<Self> {
        let settings = Settings::of(config)?;
        let (client, region) = connection::client(&settings).await?;
        connection::ping(&client, "connect").await?;
        Ok(Self(Arc::new(Inner {
            client,
            settings,
            region,
            queues: Queues::default(),
            clock: ServerClock::default(),
            gate: Gate::new(NAME),
            polls: TaskTracker::new(),
            recent: Recent::default(),
        })))
    }

    /// The redrive policy that somebody set on a queue, which the driver leaves alone. Reported with
    /// a warning when the queue is first used.
    ///
    /// # Errors
    /// When the service could not be asked, or has no such queue.
    pub async fn redrive_policy(&self, queue: &QueueName) -> Result<Option<RedrivePolicy>> {
        let _pass = self.0.gate.enter()?;
        self.0.redrive_policy(queue).await
    }

    /// The dead letters of this account and region, as the sink of a worker on another driver.
    #[must_use]
    pub fn dead_letter_sink(&self) -> SqsDeadLetters {
        SqsDeadLetters::on(self.clone())
    }
}

impl fmt::Debug for SqsDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqsDriver")
            .field("region", &self.0.region)
            .field("prefix", &self.0.settings.names.prefix)
            .field("fifo", &self.0.settings.names.is_fifo)
            .field("closed", &self.0.gate.closed().is_cancelled())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Driver for SqsDriver {
    fn capabilities(&self) -> &Capabilities {
        if self.0.settings.names.is_fifo {
            &FIFO
        } else {
            &STANDARD
        }
    }

    async fn ping(&self) -> Result<()> {
        let _pass = self.0.gate.enter()?;
        Ok(connection::ping(&self.0.client, "ping").await?)
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
        Ok(self.0.maintain(queues))
    }

    fn inspect(&self) -> Option<&dyn Inspect> {
        Some(self)
    }

    async fn close(&self) -> Result<()> {
        self.0.gate.close().await;
        self.0.polls.close();
        self.0.polls.wait().await;
        Ok(())
    }
}
