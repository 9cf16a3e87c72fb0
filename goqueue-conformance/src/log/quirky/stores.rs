use std::time::Duration;

use async_trait::async_trait;
use goqueue_core::{
    Result,
    driver::PageRequest,
    log::{
        GroupName, PartitionKey, StartFrom, TopicName,
        store::{
            DeliveryState, DeliveryStateStore, GroupPartition, Heartbeat, LeaseInfo, LeaseRequest,
            OffsetStore, OpenMessage, PartitionLeaseStore, PartitionOffsets, Settled,
            SubscriberHeartbeatStore, SubscriberId, TopicInfo,
        },
    },
};

use super::Quirky;
use crate::log::mutants::Quirk;

#[async_trait]
impl OffsetStore for Quirky {
    async fn register(
        &self,
        topic: &TopicName,
        group: &GroupName,
        start_from: StartFrom,
    ) -> Result<bool> {
        match self.quirk {
            Quirk::RegistersOnTheFirstFetch => {
                let key = (topic.clone(), group.clone());
                self.memory().late.insert(key, start_from);
                Ok(true)
            }
            Quirk::AlwaysStartsAtTheBeginning => {
                let beginning = StartFrom::Beginning;
                self.inner.offsets().register(topic, group, beginning).await
            }
            _ => {
                self.inner
                    .offsets()
                    .register(topic, group, start_from)
                    .await
            }
        }
    }

    async fn partitions(
        &self,
        topic: &TopicName,
        group: &GroupName,
    ) -> Result<Vec<PartitionOffsets>> {
        if self.quirk == Quirk::ScansMessages {
            let all = PageRequest::first(usize::MAX >> 1);
            self.inner.messages().list(topic, None, all).await?;
        }
        self.inner.offsets().partitions(topic, group).await
    }

    async fn topics(&self) -> Result<Vec<TopicInfo>> {
        self.inner.offsets().topics().await
    }

    async fn groups(&self, topic: &TopicName) -> Result<Vec<GroupName>> {
        self.inner.offsets().groups(topic).await
    }
}

#[async_trait]
impl DeliveryStateStore for Quirky {
    async fn extend(
        &self,
        topic: &TopicName,
        group: &GroupName,
        deliveries: &[OpenMessage],
        by: Duration,
    ) -> Result<Vec<Settled>> {
        if self.quirk == Quirk::NeverExtends {
            return Ok(vec![Settled::Done; deliveries.len()]);
        }
        self.inner
            .deliveries()
            .extend(topic, group, deliveries, by)
            .await
    }

    async fn of_message(
        &self,
        topic: &TopicName,
        partition: &PartitionKey,
        offset: u64,
    ) -> Result<Vec<(GroupName, DeliveryState)>> {
        self.inner
            .deliveries()
            .of_message(topic, partition, offset)
            .await
    }

    async fn open(&self, at: &GroupPartition, limit: usize) -> Result<Vec<DeliveryState>> {
        self.inner.deliveries().open(at, limit).await
    }
}

#[async_trait]
impl PartitionLeaseStore for Quirky {
    async fn acquire(&self, request: &LeaseRequest) -> Result<Vec<PartitionKey>> {
        self.register_late(&request.topic, &request.group).await?;
        self.inner.leases().acquire(request).await
    }

    async fn renew(&self, request: &LeaseRequest) -> Result<Vec<PartitionKey>> {
        self.inner.leases().renew(request).await
    }

    async fn release(
        &self,
        topic: &TopicName,
        group: &GroupName,
        subscriber: &SubscriberId,
        partitions: &[PartitionKey],
    ) -> Result<u64> {
        if self.quirk == Quirk::KeepsLeases {
            return Ok(partitions.len() as u64);
        }
        self.inner
            .leases()
            .release(topic, group, subscriber, partitions)
            .await
    }

    async fn list(
        &self,
        topic: Option<&TopicName>,
        group: Option<&GroupName>,
    ) -> Result<Vec<LeaseInfo>> {
        self.inner.leases().list(topic, group).await
    }

    async fn evict(&self, at: &GroupPartition) -> Result<bool> {
        self.inner.leases().evict(at).await
    }
}

#[async_trait]
impl SubscriberHeartbeatStore for Quirky {
    async fn beat(
        &self,
        topic: &TopicName,
        group: &GroupName,
        subscriber: &SubscriberId,
        valid_for: Duration,
    ) -> Result<()> {
        self.inner
            .heartbeats()
            .beat(topic, group, subscriber, valid_for)
            .await
    }

    async fn list(&self, topic: &TopicName, group: &GroupName) -> Result<Vec<Heartbeat>> {
        let mut listed = self.inner.heartbeats().list(topic, group).await?;
        if self.quirk == Quirk::SeesOnlyTheFirst {
            listed.truncate(1);
        }
        Ok(listed)
    }

    async fn remove(
        &self,
        topic: &TopicName,
        group: &GroupName,
        subscriber: &SubscriberId,
    ) -> Result<()> {
        self.inner
            .heartbeats()
            .remove(topic, group, subscriber)
            .await
    }

    async fn purge(
        &self,
        topic: &TopicName,
        group: &GroupName,
        dead_for: Duration,
    ) -> Result<Vec<SubscriberId>> {
        self.inner.heartbeats().purge(topic, group, dead_for).await
    }
}
