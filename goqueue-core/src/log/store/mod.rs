//! What a backend of the log implements: five stores and the operations across them.
//!
//! A store looks after one kind of record and queries only that. It returns errors and never logs;
//! what is measured and logged is the runtime's, which is the same for every backend. Whatever has
//! to be seen whole or not at all, across stores, is in [`LogTransactions`].
//!
//! Times are the backend's: delays travel as durations, rounded up to its granularity, and nothing
//! is due before its time. A delay that does not fit saturates.
//!
//! # The records
//!
//! - Per partition: its **head**, the offset given out last, and its **tail**, the highest offset
//!   that was collected. Offsets count from 1 and are never given out twice.
//! - Per partition and group: the **cursor**, the highest offset that was read from the log, and the
//!   **watermark**, the highest offset up to which everything is acked.
//! - Per partition, group and **open** message, one that was read and not acked: its attempt, until
//!   when it is invisible, the receipt of its last delivery, and whether it holds its partition.
//!   Acking removes the record, so that `watermark = (lowest open offset) - 1`, or the cursor when
//!   nothing is open; no query's cost grows with what is acked.

mod deliveries;
mod heartbeats;
mod leases;
mod messages;
mod offsets;
mod transactions;

use std::fmt;

use async_trait::async_trait;

pub use deliveries::{DeliveryState, DeliveryStateStore, OpenMessage};
pub use heartbeats::{Heartbeat, SubscriberHeartbeatStore};
pub use leases::{LeaseInfo, LeaseRequest, PartitionLeaseStore, SubscriberId};
pub use messages::{MessageStore, TopicSize};
pub use offsets::{GroupOffsets, OffsetStore, PartitionOffsets, TopicInfo};
pub use transactions::{
    CollectRequest, Collected, Dead, Delivered, Expired, Fetch, FetchRequest, LogTransactions,
    PublishRequest, Receipt, Settled, Settlement, Verdict,
};

use crate::error::Result;

use super::names::{GroupName, PartitionKey, TopicName};

/// A backend of the log. Shared by every handle and subscription of a program.
#[async_trait]
pub trait LogBackend: fmt::Debug + Send + Sync + 'static {
    /// What the backend can do. Constant for its life.
    fn capabilities(&self) -> &LogCapabilities;

    /// The messages.
    fn messages(&self) -> &dyn MessageStore;

    /// What is read and not acked.
    fn deliveries(&self) -> &dyn DeliveryStateStore;

    /// Heads, tails, cursors and watermarks.
    fn offsets(&self) -> &dyn OffsetStore;

    /// Who may read which partition.
    fn leases(&self) -> &dyn PartitionLeaseStore;

    /// Who is there.
    fn heartbeats(&self) -> &dyn SubscriberHeartbeatStore;

    /// What happens across stores.
    fn transactions(&self) -> &dyn LogTransactions;

    /// Asks the backend for a sign of life.
    ///
    /// # Errors
    /// The reason why it cannot serve.
    async fn ping(&self) -> Result<()>;

    /// Refuses new calls and waits for those in flight.
    ///
    /// # Errors
    /// When the connection could not be ended in an orderly way.
    async fn close(&self) -> Result<()>;
}

/// What a backend of the log can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogCapabilities {
    /// The driver's name, which is also its URL scheme and its Cargo feature.
    pub driver: &'static str,
    /// Whether messages outlive the process.
    pub durable: bool,
    /// The most messages of one [`publish`](LogTransactions::publish).
    pub max_messages: usize,
    /// The most bytes of one publish together, by [`Outgoing::size`](super::Outgoing::size). A
    /// single message may have [`max_payload`](LogCapabilities::max_payload) all the same.
    pub max_bytes: usize,
    /// The most bytes that one message may have, by [`Outgoing::size`](super::Outgoing::size).
    pub max_payload: usize,
    /// Whether messages can be published in the caller's own transaction.
    pub transactional_publish: bool,
}

/// One partition as one group sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupPartition {
    /// The topic.
    pub topic: TopicName,
    /// The group.
    pub group: GroupName,
    /// The partition.
    pub partition: PartitionKey,
}

impl fmt::Display for GroupPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} for {}", self.topic, self.partition, self.group)
    }
}
