use std::time::Duration;

use async_trait::async_trait;

use crate::{
    driver::{Page, PageRequest},
    error::Result,
    log::{
        message::Message,
        names::{MessageId, PartitionKey, TopicName},
    },
};

/// The messages (`queue_messages`): an immutable log, written by
/// [`publish`](super::LogTransactions::publish) alone.
#[async_trait]
pub trait MessageStore: Send + Sync {
    /// Messages of a topic by partition and offset, or of one partition by offset, whether they are
    /// visible yet or not.
    ///
    /// # Errors
    /// When the backend could not be asked; the same for every method here.
    async fn list(
        &self,
        topic: &TopicName,
        partition: Option<&PartitionKey>,
        page: PageRequest,
    ) -> Result<Page<Message>>;

    /// Every message of a topic with this id: one per partition at most.
    async fn find(&self, topic: &TopicName, id: &MessageId) -> Result<Vec<Message>>;

    /// How much a topic holds. It may read the whole topic, so it is for people.
    async fn size(&self, topic: &TopicName) -> Result<TopicSize>;

    /// How long ago the first message behind each offset was published, `None` where there is none:
    /// one answer per item, in order, in a constant number of statements.
    async fn ages(
        &self,
        topic: &TopicName,
        behind: &[(PartitionKey, u64)],
    ) -> Result<Vec<Option<Duration>>>;
}

/// How much a topic holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicSize {
    /// Messages.
    pub messages: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// Messages that are not visible yet.
    pub delayed: u64,
    /// How long ago the oldest was published.
    pub oldest: Option<Duration>,
}
