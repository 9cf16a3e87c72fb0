use std::time::Duration;

use async_trait::async_trait;

use super::{GroupPartition, Receipt, Settled};
use crate::{
    error::Result,
    log::names::{GroupName, PartitionKey, TopicName},
};

/// What is read and not acked (`queue_delivery_state`), per group.
#[async_trait]
pub trait DeliveryStateStore: Send + Sync {
    /// Moves the end of each delivery's invisibility to `by` from now; nothing else changes. A
    /// delivery whose receipt is not the message's last one is [`Settled::Lost`]; one answer per
    /// item, in order, in a constant number of statements.
    ///
    /// # Errors
    /// When the backend could not be asked; the same for every method here.
    async fn extend(
        &self,
        topic: &TopicName,
        group: &GroupName,
        deliveries: &[OpenMessage],
        by: Duration,
    ) -> Result<Vec<Settled>>;

    /// What every group that has not acked a message knows of it.
    async fn of_message(
        &self,
        topic: &TopicName,
        partition: &PartitionKey,
        offset: u64,
    ) -> Result<Vec<(GroupName, DeliveryState)>>;

    /// The first `limit` open messages of a partition, by offset.
    async fn open(&self, at: &GroupPartition, limit: usize) -> Result<Vec<DeliveryState>>;
}

/// One delivery of one message to one group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OpenMessage {
    /// The message's partition.
    pub partition: PartitionKey,
    /// Its offset.
    pub offset: u64,
    /// Which delivery of it.
    pub receipt: Receipt,
}

/// What is known of a message that a group has read and not acked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryState {
    /// The message's offset.
    pub offset: u64,
    /// Deliveries so far, without those that were given back.
    pub attempt: u32,
    /// Until it is visible again; zero when it is.
    pub invisible_for: Duration,
    /// Whether it holds its partition until then.
    pub is_holding: bool,
    /// Why its last delivery failed.
    pub last_error: Option<String>,
}
