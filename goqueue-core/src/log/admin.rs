//! The administrative calls.

use std::time::Duration;

use super::{
    backend::Backend,
    message::Message,
    names::{GroupName, MessageId, PartitionKey, TopicName},
    observe::StoreKind,
    store::{DeliveryState, GroupOffsets, GroupPartition, LeaseInfo, TopicInfo, TopicSize},
};
use crate::{
    driver::{Page, PageRequest},
    error::Result,
};

/// How many dead letters one step of a requeueing looks at.
const STEP: usize = 500;

/// Looks into a log and steers it. Dead letters are ordinary messages of a topic of their own, so
/// that whatever works on a topic works on them.
#[derive(Clone, Debug)]
pub struct LogAdmin(pub(super) Backend);

/// What a topic holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicStats {
    /// The topic.
    pub topic: TopicName,
    /// Its messages.
    pub size: TopicSize,
    /// How many partitions it has.
    pub partitions: u64,
    /// The groups that read it, by name, and how far each one is behind over all partitions.
    pub groups: Vec<(GroupName, u64)>,
    /// Dead letters in the topic that has the given suffix.
    pub dead_letters: u64,
}

/// A message, and what the groups that have not acked it know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageDetails {
    /// The message.
    pub message: Message,
    /// Each group that has read it and not acked it.
    pub open: Vec<(GroupName, DeliveryState)>,
}

/// Which dead letters a call is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Letters {
    /// All of the topic's.
    All,
    /// Those with these ids, as far as they exist.
    Ids(Vec<MessageId>),
}

impl LogAdmin {
    /// Every topic, by name.
    ///
    /// # Errors
    /// When the backend could not be asked; the same for every method here.
    pub async fn topics(&self) -> Result<Vec<TopicInfo>> {
        let call = self.0.inner.offsets().topics();
        self.0.timed(StoreKind::Offsets, "topics", call).await
    }

    /// What a topic holds. It may read the whole topic.
    pub async fn stats(&self, topic: &TopicName, dead_letters: &TopicName) -> Result<TopicStats> {
        let messages = self.0.inner.messages();
        let call = messages.size(topic);
        let size = self.0.timed(StoreKind::Messages, "size", call).await?;
        let call = messages.size(dead_letters);
        let letters = self.0.timed(StoreKind::Messages, "size", call).await?;
        let topics = self.topics().await?;
        let info = topics.into_iter().find(|info| info.topic == *topic);
        let mut groups = Vec::<(GroupName, u64)>::new();
        for row in self.lag(topic, None).await? {
            let lag = row.offsets.lag();
            match groups.last_mut() {
                Some((group, sum)) if *group == row.group => *sum += lag,
                _ => groups.push((row.group, lag)),
            }
        }
        Ok(TopicStats {
            topic: topic.clone(),
            size,
            partitions: info.map(|info| info.partitions).unwrap_or_default(),
            groups,
            dead_letters: letters.messages,
        })
    }

    /// Messages of a topic by partition and offset, or of one partition.
    pub async fn messages(
        &self,
        topic: &TopicName,
        partition: Option<&PartitionKey>,
        page: PageRequest,
    ) -> Result<Page<Message>> {
        let call = self.0.inner.messages().list(topic, partition, page);
        self.0.timed(StoreKind::Messages, "list", call).await
    }

    /// Every message of a topic with this id, one per partition at most, and what groups know of it.
    pub async fn message(&self, topic: &TopicName, id: &MessageId) -> Result<Vec<MessageDetails>> {
        let call = self.0.inner.messages().find(topic, id);
        let found = self.0.timed(StoreKind::Messages, "find", call).await?;
        let mut details = Vec::with_capacity(found.len());
        for message in found {
            let store = self.0.inner.deliveries();
            let call = store.of_message(topic, &message.partition, message.offset);
            let open = self
                .0
                .timed(StoreKind::DeliveryState, "of_message", call)
                .await?;
            details.push(MessageDetails { message, open });
        }
        Ok(details)
    }

    /// Removes one message for every group, read or not. Answers whether it was there.
    pub async fn delete_message(
        &self,
        topic: &TopicName,
        partition: &PartitionKey,
        offset: u64,
    ) -> Result<bool> {
        let call = self.0.inner.transactions().delete(topic, partition, offset);
        self.0.timed(StoreKind::Transactions, "delete", call).await
    }

    /// Removes every message of a topic for every group, read or not. Groups and offsets stay.
    /// Answers how many there were.
    pub async fn purge_topic(&self, topic: &TopicName) -> Result<u64> {
        let call = self.0.inner.transactions().purge(topic);
        self.0.timed(StoreKind::Transactions, "purge", call).await
    }

    /// Publishes dead letters back to the topics they come from, for the groups that had given them
    /// up, and removes them from `letters`, the topic they are in. What is no dead letter stays.
    /// Answers how many were moved; what a call that failed had moved stays moved.
    pub async fn requeue(&self, letters: &TopicName, which: &Letters) -> Result<u64> {
        match which {
            Letters::All => self.requeue_all(letters).await,
            Letters::Ids(ids) => {
                let mut moved = 0;
                for id in ids {
                    let call = self.0.inner.messages().find(letters, id);
                    let found = self.0.timed(StoreKind::Messages, "find", call).await?;
                    moved += self.requeue_these(letters, &found).await?;
                }
                Ok(moved)
            }
        }
    }

    async fn requeue_all(&self, letters: &TopicName) -> Result<u64> {
        let mut moved = 0;
        let mut page = PageRequest::first(STEP);
        loop {
            let found = self.messages(letters, None, page).await?;
            moved += self.requeue_these(letters, &found.items).await?;
            let Some(next) = found.next else {
                return Ok(moved);
            };
            page = PageRequest {
                limit: STEP,
                after: Some(next),
            };
        }
    }

    /// `found` is ordered by partition.
    async fn requeue_these(&self, letters: &TopicName, found: &[Message]) -> Result<u64> {
        let mut moved = 0;
        for group in found.chunk_by(|a, b| a.partition == b.partition) {
            let offsets: Vec<_> = group.iter().map(|message| message.offset).collect();
            let transactions = self.0.inner.transactions();
            let call = transactions.requeue(letters, &group[0].partition, &offsets);
            moved += self
                .0
                .timed(StoreKind::Transactions, "requeue", call)
                .await?;
        }
        Ok(moved)
    }

    /// How far each group, or one, is behind on each partition: by group and partition.
    pub async fn lag(
        &self,
        topic: &TopicName,
        group: Option<&GroupName>,
    ) -> Result<Vec<GroupOffsets>> {
        let store = self.0.inner.offsets();
        let call = store.groups(topic);
        let mut groups = self.0.timed(StoreKind::Offsets, "groups", call).await?;
        groups.retain(|known| group.is_none_or(|wanted| wanted == known));
        let mut rows = Vec::new();
        for group in groups {
            let call = store.partitions(topic, &group);
            let partitions = self.0.timed(StoreKind::Offsets, "partitions", call).await?;
            rows.extend(partitions.into_iter().map(|offsets| GroupOffsets {
                group: group.clone(),
                offsets,
            }));
        }
        Ok(rows)
    }

    /// Sets where a group reads on in a partition, as near to `to` as what the log holds allows: it
    /// goes on with the offset after it. Deliveries that are under way are lost. Answers the offset
    /// that was set, `None` when there is no such partition or group.
    pub async fn reset_offset(&self, at: &GroupPartition, to: u64) -> Result<Option<u64>> {
        let call = self.0.inner.transactions().reset(at, to);
        self.0.timed(StoreKind::Transactions, "reset", call).await
    }

    /// The leases of a topic and group, or of all.
    pub async fn leases(
        &self,
        topic: Option<&TopicName>,
        group: Option<&GroupName>,
    ) -> Result<Vec<LeaseInfo>> {
        let call = self.0.inner.leases().list(topic, group);
        self.0.timed(StoreKind::PartitionLeases, "list", call).await
    }

    /// The leases of all topics that ran out at least `threshold` ago and that nobody took over.
    pub async fn stale_leases(&self, threshold: Duration) -> Result<Vec<LeaseInfo>> {
        let mut leases = self.leases(None, None).await?;
        leases.retain(|lease| !lease.is_held() && lease.expired_for >= threshold);
        Ok(leases)
    }

    /// Takes a partition away from whoever reads it. Answers whether anybody did.
    pub async fn release_lease(&self, at: &GroupPartition) -> Result<bool> {
        let call = self.0.inner.leases().evict(at);
        self.0
            .timed(StoreKind::PartitionLeases, "evict", call)
            .await
    }
}
