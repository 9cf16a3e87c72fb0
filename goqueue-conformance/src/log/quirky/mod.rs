//! A backend that breaks one promise, whatever backend is inside.

mod stores;
mod transactions;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use goqueue_core::{
    Result,
    log::{
        GroupName, LogBackend, LogCapabilities, PartitionKey, Published, StartFrom, TopicName,
        store::{
            DeliveryStateStore, GroupPartition, LogTransactions, MessageStore, OffsetStore,
            PartitionLeaseStore, PublishRequest, Receipt, SubscriberHeartbeatStore,
        },
    },
};

use super::mutants::Quirk;

#[derive(Debug)]
pub(super) struct Quirky {
    inner: Arc<dyn LogBackend>,
    quirk: Quirk,
    memory: Mutex<Memory>,
}

/// What some quirks remember.
#[derive(Debug, Default)]
struct Memory {
    /// The last receipt of each message, for whoever asks.
    receipts: HashMap<(GroupPartition, u64), Receipt>,
    /// Offsets that are given out and not committed.
    hidden: HashSet<(PartitionKey, u64)>,
    /// Groups that are not registered yet.
    late: HashMap<(TopicName, GroupName), StartFrom>,
}

impl Quirky {
    pub(super) fn new(inner: Arc<dyn LogBackend>, quirk: Quirk) -> Self {
        Self {
            inner,
            quirk,
            memory: Mutex::default(),
        }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives messages their offsets before they are committed.
    pub(super) async fn hide(&self, request: &PublishRequest) -> Result<Vec<Published>> {
        let published = self.inner.transactions().publish(request).await?;
        let offsets = request.messages.iter().zip(&published);
        let hidden = offsets.map(|(message, p)| (message.partition.clone(), p.offset()));
        self.memory().hidden.extend(hidden);
        Ok(published)
    }

    /// Commits them, wherever the readers are by now.
    pub(super) fn show(&self) {
        self.memory().hidden.clear();
    }

    /// Registers a group that came before.
    async fn register_late(&self, topic: &TopicName, group: &GroupName) -> Result<()> {
        let late = self.memory().late.remove(&(topic.clone(), group.clone()));
        if let Some(start_from) = late {
            self.inner
                .offsets()
                .register(topic, group, start_from)
                .await?;
        }
        Ok(())
    }
}

#[async_trait]
impl LogBackend for Quirky {
    fn capabilities(&self) -> &LogCapabilities {
        self.inner.capabilities()
    }

    fn messages(&self) -> &dyn MessageStore {
        self.inner.messages()
    }

    fn deliveries(&self) -> &dyn DeliveryStateStore {
        self
    }

    fn offsets(&self) -> &dyn OffsetStore {
        self
    }

    fn leases(&self) -> &dyn PartitionLeaseStore {
        self
    }

    fn heartbeats(&self) -> &dyn SubscriberHeartbeatStore {
        self
    }

    fn transactions(&self) -> &dyn LogTransactions {
        self
    }

    async fn ping(&self) -> Result<()> {
        self.inner.ping().await
    }

    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}
