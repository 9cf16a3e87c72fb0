use std::time::Duration;

use async_trait::async_trait;

use super::{GroupPartition, SubscriberId};
use crate::{
    error::Result,
    log::{
        message::{Message, Outgoing, Published},
        names::{GroupName, PartitionKey, TopicName},
    },
};

/// What has to be seen whole or not at all. Each call is one transaction of a constant number of
/// statements, however large its batch.
///
/// A call that fails may have acted. Repeating it is always safe.
#[async_trait]
pub trait LogTransactions: Send + Sync {
    /// Appends messages, at most [`max_messages`](super::LogCapabilities::max_messages) of them. One
    /// answer per message, in order; duplicates within the batch are duplicates too.
    ///
    /// Offsets of a partition become visible in their order and none before it is committed, however
    /// long a transaction is held open: whoever has seen offset `n` will never meet a new one below.
    ///
    /// # Errors
    /// When nothing is stored, or nothing can be said; the same for every method here.
    async fn publish(&self, request: &PublishRequest) -> Result<Vec<Published>>;

    /// Takes up to `max` messages of a partition for a group, by offset, each with its attempt
    /// raised, invisible for `visibility` and under `receipt`. [`Fetch::LeaseLost`], with nothing
    /// changed, unless the subscriber's lease on the partition holds.
    ///
    /// While an open message holds the partition and is not visible, there is nothing to take.
    /// Otherwise, the open messages that are visible, and those behind the cursor. A message that is
    /// published and not visible yet becomes an open one with attempt 0 as the cursor passes it. A
    /// read that ends with fewer than it asked for moves the cursor to the head, which it has read
    /// before the messages. Open messages whose message is gone are dropped. The watermark follows.
    /// Neither acked nor invisible messages may cost anything, or keep others from being taken.
    ///
    /// With `is_serial`, at most one message is taken, and none while another is open, unless that
    /// one was never delivered: a message that was delivered goes first, as soon as it is visible.
    async fn fetch(&self, request: &FetchRequest) -> Result<Fetch>;

    /// Ends deliveries of one group, each with its own verdict, and moves the watermarks. One answer
    /// per item, in order. What is changed is only what is still under the delivery's receipt:
    /// anything else is [`Settled::Lost`], and a settlement that is repeated is too. Neither a lease
    /// that was lost nor a visibility that ran out makes a delivery lost, only another delivery of
    /// the message does.
    async fn settle(
        &self,
        topic: &TopicName,
        group: &GroupName,
        settlements: &[Settlement],
    ) -> Result<Vec<Settled>>;

    /// Removes messages that every group of the topic has acked, or that retention gives up, oldest
    /// first, at most about `max` of them. A topic that no group has ever read keeps its messages,
    /// apart from those that retention gives up.
    async fn collect(&self, request: &CollectRequest) -> Result<Collected>;

    /// Removes one message for every group. Answers whether it was there.
    async fn delete(
        &self,
        topic: &TopicName,
        partition: &PartitionKey,
        offset: u64,
    ) -> Result<bool>;

    /// Removes every message of a topic and what the groups know of them, and moves tails, cursors
    /// and watermarks to the heads. Topic, groups and offsets stay. Answers how many messages there
    /// were.
    async fn purge(&self, topic: &TopicName) -> Result<u64>;

    /// Publishes dead letters back to where each came from, for the group that had given it up
    /// ([`marks::requeued`](crate::log::marks::requeued)), and removes them. What is no dead letter
    /// stays. `offsets` are of one partition of the dead letters' topic. Answers how many were moved.
    async fn requeue(
        &self,
        letters: &TopicName,
        partition: &PartitionKey,
        offsets: &[u64],
    ) -> Result<u64>;

    /// Sets a group's cursor and watermark on a partition to `to`, but not below the tail or above
    /// the head, and forgets what is open. Deliveries that are under way are lost. Answers the
    /// offset that was set, `None` when there is no such partition or group.
    async fn reset(&self, at: &GroupPartition, to: u64) -> Result<Option<u64>>;
}

/// Messages to append.
#[derive(Clone, Debug)]
pub struct PublishRequest {
    /// The topic.
    pub topic: TopicName,
    /// The messages.
    pub messages: Vec<Outgoing>,
    /// How long until they are visible, from the publishing.
    pub delay: Duration,
}

/// Tells one delivery of a message from every other: a random number, new for each fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Receipt(pub u64);

/// Which messages to take.
#[derive(Clone, Debug)]
pub struct FetchRequest {
    /// The partition, and the group that reads it.
    pub at: GroupPartition,
    /// Whose lease it is read under.
    pub subscriber: SubscriberId,
    /// The most messages to take.
    pub max: usize,
    /// How long they are invisible.
    pub visibility: Duration,
    /// Whether no message may overtake another.
    pub is_serial: bool,
    /// What they are settled with.
    pub receipt: Receipt,
}

/// What a fetch came back with.
#[derive(Clone, Debug)]
pub enum Fetch {
    /// The lease held; these were taken, by offset.
    Taken(Vec<Delivered>),
    /// It did not: nothing was changed.
    LeaseLost,
}

/// A message that was taken.
#[derive(Clone, Debug)]
pub struct Delivered {
    /// The message.
    pub message: Message,
    /// Which delivery it is, from 1.
    pub attempt: u32,
}

/// The end of one delivery.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// The message's partition.
    pub partition: PartitionKey,
    /// Its offset.
    pub offset: u64,
    /// Which delivery of it.
    pub receipt: Receipt,
    /// What becomes of it.
    pub verdict: Verdict,
}

/// What becomes of a message, for one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is done with.
    Ack,
    /// It failed, and is visible again after `delay`.
    Retry {
        /// How long it is invisible.
        delay: Duration,
        /// Why it failed.
        error: Option<String>,
    },
    /// It did not fail: its attempt is given back, and it is visible after `delay`. Until then it
    /// holds its partition.
    Postpone {
        /// How long it is invisible.
        delay: Duration,
    },
    /// Nobody has seen it: its attempt is given back, and it is visible at once.
    Release,
    /// It is given up: a copy becomes a dead letter, and it is done with.
    Dead(Dead),
}

/// How a message is given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dead {
    /// The topic that the copy goes to, into the partition of the same key, as
    /// [`marks::dead_letter`](crate::log::marks::dead_letter) says. One that is there already is
    /// left as it is.
    pub topic: TopicName,
    /// Deliveries in all.
    pub attempts: u32,
    /// Why.
    pub error: String,
}

/// Whether a delivery was still the message's last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It was, and the call took effect.
    Done,
    /// It was not, and nothing was changed.
    Lost,
}

/// Which messages to remove.
#[derive(Clone, Debug)]
pub struct CollectRequest {
    /// The topic.
    pub topic: TopicName,
    /// Messages that have been visible for longer than this are given up, whoever has not read them,
    /// as far as everything before them in their partition is. `None` keeps them.
    pub retention: Option<Duration>,
    /// About how many messages to remove at most.
    pub max: usize,
}

/// What a collection removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Messages that every group had acked.
    pub acked: u64,
    /// Messages that retention gave up, by partition.
    pub expired: Vec<Expired>,
    /// Whether there is more.
    pub has_more: bool,
}

/// Messages of a partition that retention gave up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expired {
    /// The partition.
    pub partition: PartitionKey,
    /// How many.
    pub messages: u64,
    /// The groups that had not acked all of them.
    pub groups: Vec<GroupName>,
}
