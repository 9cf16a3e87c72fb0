use std::sync::Arc;

use super::{Health, WorkerStats, shared::Shared};

/// Steers and watches a running worker. Cheap to clone.
#[derive(Clone, Debug)]
pub struct WorkerHandle(Arc<Shared>);

impl WorkerHandle {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    /// Begins a graceful shutdown, as the signal of [`Worker::run_until`](crate::Worker::run_until)
    /// does.
    pub fn shutdown(&self) {
        self.0.stop.cancel();
    }

    /// Stops at once: running handlers are dropped, and their jobs run again when the leases end.
    pub fn abort(&self) {
        self.0.abort.cancel();
        self.0.stop.cancel();
    }

    /// Counts of what the worker did so far.
    #[must_use]
    pub fn stats(&self) -> WorkerStats {
        self.0.stats.read(self.0.running.len() as u64)
    }

    /// Whether the worker can reach its backend.
    #[must_use]
    pub fn health(&self) -> Health {
        self.0.health.read()
    }
}
