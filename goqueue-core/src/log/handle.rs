use std::{sync::Arc, time::Duration};

use super::{
    admin::LogAdmin,
    backend::Backend,
    config::SubscriptionConfig,
    connect,
    message::{NewMessage, Published},
    observe::{LogObserver, Observers},
    publisher::Publisher,
    store::{LogBackend, LogCapabilities},
    subscription::{Subscriber, Subscription},
};
use crate::{
    config::Config,
    driver::DriverUrl,
    error::{Error, Result},
};

/// A handle to one log. Cheap to clone and to share.
///
/// ```
/// # use futures_util::StreamExt;
/// # use goqueue_core::log::{Log, NewMessage, SubscriptionConfig};
/// # async fn example(log: Log) -> goqueue_core::Result<()> {
/// log.publish("orders", [NewMessage::new("17/paid", "{}", "customer-3")]).await?;
///
/// let config = SubscriptionConfig::new("worker-1", "billing");
/// let mut deliveries = log.subscribe("orders", config).await?;
/// while let Some(delivery) = deliveries.next().await {
///     println!("{:?}", delivery.message().payload);
///     delivery.ack().await?;
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Log(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) backend: Backend,
    pub(crate) config: Config,
}

impl Inner {
    pub(crate) fn driver(&self) -> &'static str {
        self.backend.inner.capabilities().driver
    }
}

impl Log {
    /// Connects to the backend that the configuration names, through those compiled in.
    ///
    /// # Errors
    /// [`Error::UnknownDriver`] and [`Error::DriverNotCompiled`] name the scheme and what would do,
    /// [`Error::Unsupported`] a driver that has no log; otherwise what the backend says.
    pub async fn connect(config: &Config) -> Result<Self> {
        let backend = connect::connect(config).await?;
        Ok(Self::from_shared(backend).with_config(config.clone()))
    }

    /// Connects to a URL, with the defaults for everything else.
    ///
    /// # Errors
    /// As for [`connect`](Log::connect).
    pub async fn connect_url(url: impl AsRef<str>) -> Result<Self> {
        Self::connect(&Config::default().with_driver(DriverUrl::new(url))).await
    }

    /// A log on any backend, goqueue's or your own, with the default settings.
    pub fn new(backend: impl LogBackend) -> Self {
        Self::from_shared(Arc::new(backend))
    }

    /// A log on a backend that is shared with others.
    #[must_use]
    pub fn from_shared(backend: Arc<dyn LogBackend>) -> Self {
        let backend = Backend {
            inner: backend,
            observers: Observers::default(),
        };
        Self(Arc::new(Inner {
            backend,
            config: Config::default(),
        }))
    }

    /// The same backend with other settings; the configuration's `driver` is not looked at.
    #[must_use]
    pub fn with_config(&self, config: Config) -> Self {
        let backend = self.0.backend.clone();
        Self(Arc::new(Inner { backend, config }))
    }

    /// The same backend with one more observer, which sees what is done through the handle returned
    /// here and everything made from it.
    #[must_use]
    pub fn with_observer(&self, observer: impl LogObserver) -> Self {
        let Backend { inner, observers } = &self.0.backend;
        let backend = Backend {
            inner: Arc::clone(inner),
            observers: observers.with(observer),
        };
        let config = self.0.config.clone();
        Self(Arc::new(Inner { backend, config }))
    }

    /// Publishes messages. See [`Publisher::publish`].
    ///
    /// # Errors
    /// As for [`Publisher::publish_after`].
    pub async fn publish(
        &self,
        topic: impl AsRef<str>,
        messages: impl IntoIterator<Item = NewMessage>,
    ) -> Result<Vec<Published>> {
        self.publisher().publish(topic, messages).await
    }

    /// Publishes messages that become visible after `delay`. See [`Publisher::publish_after`].
    ///
    /// # Errors
    /// As for [`Publisher::publish_after`].
    pub async fn publish_after(
        &self,
        topic: impl AsRef<str>,
        messages: impl IntoIterator<Item = NewMessage>,
        delay: Duration,
    ) -> Result<Vec<Published>> {
        self.publisher().publish_after(topic, messages, delay).await
    }

    /// Reads a topic as one subscriber of a consumer group. See [`Subscriber::subscribe`].
    ///
    /// # Errors
    /// As for [`Subscriber::subscribe`].
    pub async fn subscribe(
        &self,
        topic: impl AsRef<str>,
        config: SubscriptionConfig,
    ) -> Result<Subscription> {
        self.subscriber().subscribe(topic, config).await
    }

    /// The publishing side alone.
    #[must_use]
    pub fn publisher(&self) -> Publisher {
        Publisher(Arc::clone(&self.0))
    }

    /// The reading side alone.
    #[must_use]
    pub fn subscriber(&self) -> Subscriber {
        Subscriber(Arc::clone(&self.0))
    }

    /// The administrative calls.
    #[must_use]
    pub fn admin(&self) -> LogAdmin {
        LogAdmin(self.0.backend.clone())
    }

    /// The backend.
    #[must_use]
    pub fn backend(&self) -> &Arc<dyn LogBackend> {
        &self.0.backend.inner
    }

    /// What the backend can do.
    #[must_use]
    pub fn capabilities(&self) -> &LogCapabilities {
        self.0.backend.inner.capabilities()
    }

    /// The settings this handle was made with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// Asks the backend for a sign of life, for as long as a publishing would wait.
    ///
    /// # Errors
    /// The reason why it cannot serve.
    pub async fn ping(&self) -> Result<()> {
        let after = self.0.config.enqueue_timeout;
        let silent = |_| {
            Err(Error::Timeout {
                driver: self.0.driver(),
                operation: "ping",
                after,
            })
        };
        let answer = tokio::time::timeout(after, self.0.backend.inner.ping()).await;
        answer.unwrap_or_else(silent)
    }

    /// Refuses new calls on every handle of this backend and waits for those in flight.
    ///
    /// # Errors
    /// When the connection could not be ended in an orderly way.
    pub async fn close(&self) -> Result<()> {
        self.0.backend.inner.close().await
    }
}
