use async_trait::async_trait;

use crate::{
    error::Result,
    log::{
        config::StartFrom,
        names::{GroupName, PartitionKey, TopicName},
    },
};

/// Heads, tails, cursors and watermarks (`queue_offsets`).
#[async_trait]
pub trait OffsetStore: Send + Sync {
    /// Makes a group known on a topic, in one step: it holds back collection on every partition from
    /// then on, those that come later included. At [`StartFrom::Beginning`] it begins at what the log
    /// still holds; at [`StartFrom::End`] behind the heads there are now, and at 1 on partitions that
    /// come later. A group that is known already is left as it is. Answers whether it is new.
    ///
    /// # Errors
    /// When the backend could not be asked; the same for every method here.
    async fn register(
        &self,
        topic: &TopicName,
        group: &GroupName,
        start_from: StartFrom,
    ) -> Result<bool>;

    /// Every partition of a topic as a group sees it, by key. It costs what the partitions cost,
    /// however many messages there are. A partition that the group has not read yet has a watermark
    /// and a cursor of what it was registered with.
    async fn partitions(
        &self,
        topic: &TopicName,
        group: &GroupName,
    ) -> Result<Vec<PartitionOffsets>>;

    /// Every topic that was ever published to or subscribed to, by name.
    async fn topics(&self) -> Result<Vec<TopicInfo>>;

    /// The groups that are known on a topic, by name.
    async fn groups(&self, topic: &TopicName) -> Result<Vec<GroupName>>;
}

/// Where a partition and one group on it stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionOffsets {
    /// The partition.
    pub partition: PartitionKey,
    /// The offset given out last; 0 is none.
    pub head: u64,
    /// The highest offset that was collected; 0 is none.
    pub tail: u64,
    /// The highest offset that the group has read; 0 is none.
    pub cursor: u64,
    /// The highest offset up to which the group has acked everything; 0 is none.
    pub watermark: u64,
}

impl PartitionOffsets {
    /// How many offsets lie between what the group has acked without a gap and the head.
    #[must_use]
    pub fn lag(&self) -> u64 {
        self.head.saturating_sub(self.watermark.max(self.tail))
    }
}

/// A topic, as [`OffsetStore::topics`] lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicInfo {
    /// Its name.
    pub topic: TopicName,
    /// How many partitions it has.
    pub partitions: u64,
    /// How many offsets lie between the tails and the heads: at least as many as there are messages.
    pub span: u64,
    /// How many groups read it.
    pub groups: u64,
}

/// Where one group stands on one partition: a row of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupOffsets {
    /// The group.
    pub group: GroupName,
    /// Where it stands.
    pub offsets: PartitionOffsets,
}
