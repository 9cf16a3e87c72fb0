use std::{fmt, time::Duration};

use async_trait::async_trait;

use super::GroupPartition;
use crate::{
    error::Result,
    log::names::{GroupName, PartitionKey, SubscriberName, TopicName},
};

/// Who may read which partition (`queue_partition_leases`): one subscriber per group at a time.
///
/// Every batch is done in a constant number of statements and answered item by item.
#[async_trait]
pub trait PartitionLeaseStore: Send + Sync {
    /// Takes the leases that are free, have run out, or are the subscriber's already, and holds them
    /// for `request.duration` from now. Answers the partitions whose lease is the subscriber's now.
    ///
    /// # Errors
    /// When the backend could not be asked; the same for every method here.
    async fn acquire(&self, request: &LeaseRequest) -> Result<Vec<PartitionKey>>;

    /// Holds leases that are still the subscriber's for `request.duration` from now; one that has run
    /// out and that nobody took counts. Answers the partitions whose lease is the subscriber's now.
    async fn renew(&self, request: &LeaseRequest) -> Result<Vec<PartitionKey>>;

    /// Removes the leases that are the subscriber's. Answers how many there were.
    async fn release(
        &self,
        topic: &TopicName,
        group: &GroupName,
        subscriber: &SubscriberId,
        partitions: &[PartitionKey],
    ) -> Result<u64>;

    /// The leases of a topic and group, or of all, by topic, group and partition, those that have run
    /// out included.
    async fn list(
        &self,
        topic: Option<&TopicName>,
        group: Option<&GroupName>,
    ) -> Result<Vec<LeaseInfo>>;

    /// Removes a lease, whoever has it. Answers whether there was one.
    async fn evict(&self, at: &GroupPartition) -> Result<bool>;
}

/// One running subscription, told apart from every other that had or has its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubscriberId {
    /// What it is called.
    pub name: SubscriberName,
    /// A random number of its own, which fences its leases.
    pub instance: u64,
}

impl fmt::Display for SubscriberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{:016x}", self.name, self.instance)
    }
}

/// Which leases to take or renew.
#[derive(Clone, Debug)]
pub struct LeaseRequest {
    /// The topic.
    pub topic: TopicName,
    /// The group.
    pub group: GroupName,
    /// Who asks.
    pub subscriber: SubscriberId,
    /// The partitions.
    pub partitions: Vec<PartitionKey>,
    /// How long the leases hold.
    pub duration: Duration,
}

/// A lease, as [`PartitionLeaseStore::list`] shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseInfo {
    /// What it is on.
    pub at: GroupPartition,
    /// Who has it.
    pub subscriber: SubscriberId,
    /// How long it still holds; zero when it has run out.
    pub expires_in: Duration,
    /// How long ago it ran out; zero when it holds.
    pub expired_for: Duration,
}

impl LeaseInfo {
    /// Whether it holds.
    #[must_use]
    pub fn is_held(&self) -> bool {
        !self.expires_in.is_zero()
    }
}
