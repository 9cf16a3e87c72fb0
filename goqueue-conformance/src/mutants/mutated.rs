use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use goqueue_core::driver::Driver;
use tokio::runtime::Runtime;

use super::honesty::PASSWORD;
use crate::{
    harness::{Harness, NoServer, Store, Timing},
    wrap::Faults,
};

type Make = fn(Arc<dyn Driver>) -> Arc<dyn Driver>;

/// A backend whose every handle is a mutant. The handles of one store share the mutant, as what is
/// wrong with a backend is wrong for all.
pub(super) struct Mutated<'h> {
    inner: &'h dyn Harness,
    make: Make,
    stores: Mutex<HashMap<Store, Arc<dyn Driver>>>,
}

impl<'h> Mutated<'h> {
    pub(super) fn new(inner: &'h dyn Harness, make: Make) -> Self {
        Self {
            inner,
            make,
            stores: Mutex::default(),
        }
    }
}

#[async_trait]
impl Harness for Mutated<'_> {
    fn name(&self) -> &str {
        "a mutant"
    }

    fn runtime(&self) -> Runtime {
        self.inner.runtime()
    }

    fn timing(&self) -> Timing {
        self.inner.timing()
    }

    async fn store(&self) -> Store {
        self.inner.store().await
    }

    async fn connect(&self, store: &Store) -> Arc<dyn Driver> {
        let driver = self.inner.connect(store).await;
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(
            stores
                .entry(store.clone())
                .or_insert_with(|| (self.make)(driver)),
        )
    }

    async fn faulty(&self, store: &Store) -> (Arc<dyn Driver>, Arc<dyn Faults>) {
        let (line, faults) = self.inner.faulty(store).await;
        ((self.make)(line), faults)
    }

    async fn elapse(&self, time: Duration) {
        self.inner.elapse(time).await;
    }

    async fn store_to_restart(&self) -> Store {
        self.inner.store_to_restart().await
    }

    async fn restart_server(&self, store: &Store) -> Result<(), NoServer> {
        self.inner.restart_server(store).await
    }

    fn secrets(&self) -> Vec<String> {
        vec![PASSWORD.into()]
    }

    async fn clean_up(&self) {
        self.inner.clean_up().await;
    }
}
