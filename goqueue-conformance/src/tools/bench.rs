use std::{sync::Arc, time::Duration};

use goqueue_core::{
    Config, JobId, Queue, WorkerBuilder,
    driver::{Capabilities, Driver},
};

use super::{Client, Crew, Probe, Records, client::queue_name};
use crate::harness::{Harness, Store, Timing};

/// The queue of the cases.
pub(crate) const QUEUE: &str = "work";

/// A fresh store of the backend under test, and a first handle to it.
pub(crate) struct Bench<'h> {
    pub(crate) harness: &'h dyn Harness,
    pub(crate) store: Store,
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) timing: Timing,
    pub(crate) records: Records,
}

impl<'h> Bench<'h> {
    pub(crate) async fn new(harness: &'h dyn Harness) -> Self {
        Self::on(harness, harness.store().await).await
    }

    /// A bench on a server that may be restarted.
    pub(crate) async fn to_restart(harness: &'h dyn Harness) -> Self {
        Self::on(harness, harness.store_to_restart().await).await
    }

    async fn on(harness: &'h dyn Harness, store: Store) -> Self {
        let driver = harness.connect(&store).await;
        let timing = harness.timing();
        Self {
            harness,
            store,
            driver,
            timing,
            records: Records::default(),
        }
    }

    pub(crate) fn can(&self) -> &Capabilities {
        self.driver.capabilities()
    }

    /// The first process.
    pub(crate) fn client(&self) -> Client {
        self.client_of(Arc::clone(&self.driver))
    }

    /// Another process on the same store.
    pub(crate) async fn another(&self) -> Client {
        self.client_of(self.harness.connect(&self.store).await)
    }

    pub(crate) fn client_of(&self, driver: Arc<dyn Driver>) -> Client {
        Client {
            driver,
            queue: queue_name(QUEUE),
            timing: self.timing,
        }
    }

    /// A producer's handle.
    pub(crate) fn queue(&self) -> Queue {
        Queue::from_shared(Arc::clone(&self.driver))
    }

    /// A handle over another driver around the same store.
    pub(crate) fn queue_on(&self, driver: Arc<dyn Driver>) -> Queue {
        Queue::from_shared(driver)
    }

    /// A handle whose calls give up after `deadline`.
    pub(crate) fn impatient(&self, driver: Arc<dyn Driver>, deadline: Duration) -> Queue {
        let mut config = Config::default();
        config.enqueue_timeout = deadline;
        Queue::from_shared(driver).with_config(config)
    }

    /// Enqueues a job that has to be stored.
    pub(crate) async fn enqueue(&self, probe: Probe) -> JobId {
        let enqueued = self.queue().enqueue(probe).await;
        enqueued
            .unwrap_or_else(|error| panic!("enqueue failed: {error}"))
            .id()
    }

    /// Starts a worker on the first handle.
    pub(crate) fn worker(&self, set: impl FnOnce(WorkerBuilder) -> WorkerBuilder) -> Crew {
        Crew::start(&self.queue(), &self.records, self.timing, set)
    }

    /// Starts a worker on another driver around the same store.
    pub(crate) fn worker_on(
        &self,
        driver: Arc<dyn Driver>,
        set: impl FnOnce(WorkerBuilder) -> WorkerBuilder,
    ) -> Crew {
        Crew::start(&self.queue_on(driver), &self.records, self.timing, set)
    }

    pub(crate) async fn elapse(&self, time: Duration) {
        self.harness.elapse(time).await;
    }

    pub(crate) fn lease(&self) -> Duration {
        self.timing.lease
    }

    /// How long to wait for something that ought to happen: a lease and some more.
    pub(crate) fn patience(&self) -> Duration {
        self.timing.lease * 2 + self.timing.tolerance * 4
    }
}
