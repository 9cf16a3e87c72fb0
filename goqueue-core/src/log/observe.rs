//! What is told to whoever measures the log.

use std::{fmt, sync::Arc, time::Duration};

use super::names::{GroupName, PartitionKey, TopicName};

/// Sees what a [`Log`](super::Log) does, for metrics. Calls come from the runtime's own tasks, so
/// they must be short and must not block.
pub trait LogObserver: fmt::Debug + Send + Sync + 'static {
    /// A store answered.
    fn store_call(&self, call: &StoreCall);

    /// Something became of messages.
    fn happened(&self, event: &PartitionEvent<'_>);

    /// Where a partition stands that this program reads, now and then.
    fn stands(&self, figures: &PartitionFigures<'_>);
}

/// One call of one store.
#[derive(Clone, Copy, Debug)]
pub struct StoreCall {
    /// Which store.
    pub store: StoreKind,
    /// What was asked, such as `acquire`.
    pub operation: &'static str,
    /// How long the answer took.
    pub elapsed: Duration,
    /// Whether it was no error.
    pub is_ok: bool,
}

/// The stores of a backend, and the operations across them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreKind {
    /// [`MessageStore`](super::store::MessageStore).
    Messages,
    /// [`DeliveryStateStore`](super::store::DeliveryStateStore).
    DeliveryState,
    /// [`OffsetStore`](super::store::OffsetStore).
    Offsets,
    /// [`PartitionLeaseStore`](super::store::PartitionLeaseStore).
    PartitionLeases,
    /// [`SubscriberHeartbeatStore`](super::store::SubscriberHeartbeatStore).
    SubscriberHeartbeats,
    /// [`LogTransactions`](super::store::LogTransactions).
    Transactions,
}

impl StoreKind {
    /// Its name in labels and fields.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Messages => "message",
            Self::DeliveryState => "delivery_state",
            Self::Offsets => "offset",
            Self::PartitionLeases => "partition_lease",
            Self::SubscriberHeartbeats => "subscriber_heartbeat",
            Self::Transactions => "transaction",
        }
    }
}

/// Something that became of messages of one partition.
#[derive(Clone, Debug)]
pub struct PartitionEvent<'a> {
    /// The topic.
    pub topic: &'a TopicName,
    /// The group that read them; `None` for the publisher's side.
    pub group: Option<&'a GroupName>,
    /// The partition.
    pub partition: &'a PartitionKey,
    /// What became of them.
    pub kind: EventKind,
    /// How many there were.
    pub count: u64,
}

/// What can become of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// They were stored.
    Published,
    /// They were there already.
    Duplicate,
    /// They were handed to the program.
    Delivered,
    /// They are done with.
    Acked,
    /// They failed and will be delivered again.
    Nacked,
    /// They were put off.
    Postponed,
    /// They became dead letters.
    DeadLettered,
    /// They were given up, with dead letters disabled.
    Dropped,
    /// Nobody had seen them, and they were given back.
    Released,
    /// Their answer came too late.
    LeaseLost,
    /// Retention removed them, unread by some group.
    Expired,
}

impl EventKind {
    /// Its name in labels.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Duplicate => "duplicate",
            Self::Delivered => "delivered",
            Self::Acked => "acked",
            Self::Nacked => "nacked",
            Self::Postponed => "postponed",
            Self::DeadLettered => "dead_lettered",
            Self::Dropped => "dropped",
            Self::Released => "released",
            Self::LeaseLost => "lease_lost",
            Self::Expired => "expired",
        }
    }
}

/// Where a partition stands for one group.
#[derive(Clone, Debug)]
pub struct PartitionFigures<'a> {
    /// The topic.
    pub topic: &'a TopicName,
    /// The group.
    pub group: &'a GroupName,
    /// The partition.
    pub partition: &'a PartitionKey,
    /// How many offsets lie between what is acked without a gap and the head.
    pub lag: u64,
    /// How long ago the first message that is not acked was published; zero when there is none.
    pub age: Duration,
}

/// Everyone who sees what one log does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observers(Arc<[Arc<dyn LogObserver>]>);

impl Observers {
    pub(crate) fn with(&self, observer: impl LogObserver) -> Self {
        let observer: Arc<dyn LogObserver> = Arc::new(observer);
        Self(self.0.iter().cloned().chain([observer]).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn tell(&self, tell: impl Fn(&dyn LogObserver)) {
        for observer in &*self.0 {
            tell(&**observer);
        }
    }
}
