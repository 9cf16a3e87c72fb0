//! The partitioned message log: publish and subscribe, with consumer groups.
//!
//! A job queue forgets a job once it is done; the log keeps a message until every consumer group
//! has acked it. Messages of one partition key are kept in the order in which they were published;
//! each group reads all of them, at least once, and its subscribers share the partitions out among
//! themselves.

mod admin;
mod backend;
pub mod config;
mod connect;
mod handle;
pub mod marks;
mod message;
mod names;
mod observe;
mod publisher;
pub mod store;
mod subscription;

pub use admin::{Letters, LogAdmin, MessageDetails, TopicStats};
pub use config::{DeadLetterTopicConfig, RetryConfig, StartFrom, SubscriptionConfig};
pub use connect::{LogConnectFuture, LogEntry};
pub use handle::Log;
pub use marks::DeadLetterFacts;
pub use message::{
    MAX_METADATA, MAX_METADATA_NAME, Message, Metadata, NewMessage, Outgoing, Published,
};
pub use names::{
    GroupName, MAX_GROUP, MAX_MESSAGE_ID, MAX_PARTITION_KEY, MAX_STORED_ID, MAX_TOPIC, MessageId,
    PartitionKey, SubscriberName, TopicName,
};
pub use observe::{EventKind, LogObserver, PartitionEvent, PartitionFigures, StoreCall, StoreKind};
pub use publisher::Publisher;
pub use store::{LogBackend, LogCapabilities};
pub use subscription::{
    Delivery, Subscriber, Subscription, SubscriptionHandle, SubscriptionReport,
};
