//! How a URL becomes a log.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use super::store::LogBackend;
use crate::{config::Config, error::Result};

/// What a connecting backend returns.
pub type LogConnectFuture = Pin<Box<dyn Future<Output = Result<Arc<dyn LogBackend>>> + Send>>;

/// A backend of the log that is compiled in. The facade submits one per enabled feature through
/// `inventory`; one of your own can do the same, or be handed to [`Log::new`](super::Log::new).
pub struct LogEntry {
    pub(crate) schemes: &'static [&'static str],
    pub(crate) connect: fn(Config) -> LogConnectFuture,
}

impl LogEntry {
    /// Serves `schemes` (lower case) with `connect`.
    #[must_use]
    pub const fn new(
        schemes: &'static [&'static str],
        connect: fn(Config) -> LogConnectFuture,
    ) -> Self {
        Self { schemes, connect }
    }
}

impl fmt::Debug for LogEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogEntry")
            .field("schemes", &self.schemes)
            .finish_non_exhaustive()
    }
}

inventory::collect!(LogEntry);

/// Connects to the backend that the configuration names, through those compiled in.
pub(super) async fn connect(config: &Config) -> Result<Arc<dyn LogBackend>> {
    let scheme = config.driver.scheme();
    let entries = || inventory::iter::<LogEntry>.into_iter();
    match entries().find(|entry| entry.schemes.contains(&scheme.as_str())) {
        Some(entry) => (entry.connect)(config.clone()).await,
        None => {
            let compiled = entries().flat_map(|entry| entry.schemes.iter().copied());
            Err(config.driver.no_log(compiled.collect()))
        }
    }
}
