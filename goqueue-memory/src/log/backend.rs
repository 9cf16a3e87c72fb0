use async_trait::async_trait;
use goqueue_core::{
    Result,
    log::{
        GroupName, LogBackend, LogCapabilities, PartitionKey, Published, TopicName,
        store::{
            CollectRequest, Collected, DeliveryStateStore, Fetch, FetchRequest, GroupPartition,
            LogTransactions, MessageStore, OffsetStore, PartitionLeaseStore, PublishRequest,
            Settled, Settlement, SubscriberHeartbeatStore,
        },
    },
};

use super::MemoryLog;
use crate::driver::{MAX_PAYLOAD, NAME};

static CAPABILITIES: LogCapabilities = LogCapabilities {
    driver: NAME,
    durable: false,
    max_messages: 10_000,
    max_bytes: usize::MAX,
    max_payload: MAX_PAYLOAD,
    transactional_publish: false,
};

#[async_trait]
impl LogBackend for MemoryLog {
    fn capabilities(&self) -> &LogCapabilities {
        &CAPABILITIES
    }

    fn messages(&self) -> &dyn MessageStore {
        self
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
        self.call(|_| ())
    }

    async fn close(&self) -> Result<()> {
        self.closed.cancel();
        // Waits for the call that has the lock now, and finds the connection closed.
        let _ = self.call(|_| ());
        Ok(())
    }
}

#[async_trait]
impl LogTransactions for MemoryLog {
    async fn publish(&self, request: &PublishRequest) -> Result<Vec<Published>> {
        self.call(|state| state.publish(request))
    }

    async fn fetch(&self, request: &FetchRequest) -> Result<Fetch> {
        self.call(|state| state.fetch(request))
    }

    async fn settle(
        &self,
        topic: &TopicName,
        group: &GroupName,
        settlements: &[Settlement],
    ) -> Result<Vec<Settled>> {
        self.call(|state| state.settle(topic, group, settlements))
    }

    async fn collect(&self, request: &CollectRequest) -> Result<Collected> {
        self.call(|state| state.collect(request))
    }

    async fn delete(
        &self,
        topic: &TopicName,
        partition: &PartitionKey,
        offset: u64,
    ) -> Result<bool> {
        self.call(|state| state.delete(topic, partition, offset))
    }

    async fn purge(&self, topic: &TopicName) -> Result<u64> {
        self.call(|state| state.purge(topic))
    }

    async fn requeue(
        &self,
        letters: &TopicName,
        partition: &PartitionKey,
        offsets: &[u64],
    ) -> Result<u64> {
        self.call(|state| state.requeue(letters, partition, offsets))
    }

    async fn reset(&self, at: &GroupPartition, to: u64) -> Result<Option<u64>> {
        self.call(|state| state.reset(at, to))
    }
}
