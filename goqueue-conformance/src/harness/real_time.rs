use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use goqueue_core::driver::Driver;
use tokio::runtime::{Builder, Runtime};

use super::{Harness, NoServer, Store, Timing};
use crate::{
    suite::{be_quiet, is_quiet},
    wrap::Faults,
};

/// A runtime of several threads and the real clock: what the harness of a service runs on.
///
/// # Panics
/// When the system has no threads left.
#[must_use]
pub fn real_time_runtime() -> Runtime {
    let is_quiet = is_quiet();
    let runtime = Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .on_thread_start(move || {
            if is_quiet {
                be_quiet();
            }
        })
        .build();
    runtime.expect("a runtime starts")
}

/// The same backend on several threads and the real clock, for cases that need true concurrency.
pub(crate) struct RealTime<'h>(pub(crate) &'h dyn Harness);

#[async_trait]
impl Harness for RealTime<'_> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn runtime(&self) -> Runtime {
        real_time_runtime()
    }

    fn timing(&self) -> Timing {
        let timing = self.0.timing();
        if timing.is_virtual {
            Timing {
                lease: Duration::from_secs(1),
                ..Timing::REAL
            }
        } else {
            timing
        }
    }

    async fn store(&self) -> Store {
        self.0.store().await
    }

    async fn connect(&self, store: &Store) -> Arc<dyn Driver> {
        self.0.connect(store).await
    }

    async fn driver(&self) -> Arc<dyn Driver> {
        self.0.driver().await
    }

    async fn faulty(&self, store: &Store) -> (Arc<dyn Driver>, Arc<dyn Faults>) {
        self.0.faulty(store).await
    }

    async fn elapse(&self, time: Duration) {
        self.0.elapse(time).await;
    }

    async fn store_to_restart(&self) -> Store {
        self.0.store_to_restart().await
    }

    async fn restart_server(&self, store: &Store) -> Result<(), NoServer> {
        self.0.restart_server(store).await
    }

    fn secrets(&self) -> Vec<String> {
        self.0.secrets()
    }

    async fn clean_up(&self) {
        self.0.clean_up().await;
    }
}
