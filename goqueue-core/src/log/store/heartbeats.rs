use std::time::Duration;

use async_trait::async_trait;

use super::SubscriberId;
use crate::{
    error::Result,
    log::names::{GroupName, TopicName},
};

/// Who is there (`queue_subscriber_heartbeats`), per topic and group.
#[async_trait]
pub trait SubscriberHeartbeatStore: Send + Sync {
    /// Says that a subscriber is there, for `valid_for` from now.
    ///
    /// # Errors
    /// When the backend could not be asked; the same for every method here.
    async fn beat(
        &self,
        topic: &TopicName,
        group: &GroupName,
        subscriber: &SubscriberId,
        valid_for: Duration,
    ) -> Result<()>;

    /// The subscribers of a group that have been heard of, by name and instance; those whose last
    /// heartbeat has run out are told apart by [`Heartbeat::is_alive`].
    async fn list(&self, topic: &TopicName, group: &GroupName) -> Result<Vec<Heartbeat>>;

    /// Forgets a subscriber.
    async fn remove(
        &self,
        topic: &TopicName,
        group: &GroupName,
        subscriber: &SubscriberId,
    ) -> Result<()>;

    /// Forgets the subscribers of a group whose heartbeat ran out at least `dead_for` ago. Answers
    /// who they were.
    async fn purge(
        &self,
        topic: &TopicName,
        group: &GroupName,
        dead_for: Duration,
    ) -> Result<Vec<SubscriberId>>;
}

/// What was last heard of a subscriber.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The subscriber.
    pub subscriber: SubscriberId,
    /// Whether its last heartbeat still counts.
    pub is_alive: bool,
}
