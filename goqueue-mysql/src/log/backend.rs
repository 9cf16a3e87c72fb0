//! The log as its runtime sees it: which call is made of what.

use async_trait::async_trait;
use goqueue_core::driver::Driver as _;
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

use super::MysqlLog;

#[async_trait]
impl LogBackend for MysqlLog {
    fn capabilities(&self) -> &LogCapabilities {
        &self.0.capabilities
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
        self.0.call("ping", self.0.shared.ping()).await
    }

    async fn close(&self) -> Result<()> {
        self.0.closing.cancel();
        self.0.in_flight.close();
        self.0.in_flight.wait().await;
        match &self.0.own {
            Some(driver) => driver.close().await,
            None => Ok(()),
        }
    }
}

#[async_trait]
impl LogTransactions for MysqlLog {
    async fn publish(&self, request: &PublishRequest) -> Result<Vec<Published>> {
        self.0.call("publish", self.0.publish(request)).await
    }

    async fn fetch(&self, request: &FetchRequest) -> Result<Fetch> {
        self.0.call("fetch", self.0.fetch(request)).await
    }

    async fn settle(
        &self,
        topic: &TopicName,
        group: &GroupName,
        settlements: &[Settlement],
    ) -> Result<Vec<Settled>> {
        self.0
            .call("settle", self.0.settle(topic, group, settlements))
            .await
    }

    async fn collect(&self, request: &CollectRequest) -> Result<Collected> {
        self.0.call("collect", self.0.collect(request)).await
    }

    async fn delete(
        &self,
        topic: &TopicName,
        partition: &PartitionKey,
        offset: u64,
    ) -> Result<bool> {
        self.0
            .call("delete", self.0.delete(topic, partition, offset))
            .await
    }

    async fn purge(&self, topic: &TopicName) -> Result<u64> {
        self.0.call("purge", self.0.purge(topic)).await
    }

    async fn requeue(
        &self,
        letters: &TopicName,
        partition: &PartitionKey,
        offsets: &[u64],
    ) -> Result<u64> {
        self.0
            .call("requeue", self.0.requeue(letters, partition, offsets))
            .await
    }

    async fn reset(&self, at: &GroupPartition, to: u64) -> Result<Option<u64>> {
        self.0.call("reset", self.0.reset(at, to)).await
    }
}
