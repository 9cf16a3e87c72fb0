//! Who reads which partition, and who is there.

use std::time::Duration;

use async_trait::async_trait;
use goqueue_core::{
    Result,
    log::{
        GroupName, PartitionKey, TopicName,
        store::{
            GroupPartition, Heartbeat, LeaseInfo, LeaseRequest, PartitionLeaseStore,
            SubscriberHeartbeatStore, SubscriberId,
        },
    },
};

use super::{
    MemoryLog,
    state::{Lease, State},
};

impl State {
    /// Takes or renews the leases that `may` allows, given who has them; nobody is `None`.
    fn lease(
        &mut self,
        request: &LeaseRequest,
        may: impl Fn(Option<&Lease>) -> bool,
    ) -> Vec<PartitionKey> {
        let until = self.now.after(request.duration);
        let mut leased = Vec::new();
        for partition in &request.partitions {
            let at = GroupPartition {
                topic: request.topic.clone(),
                group: request.group.clone(),
                partition: partition.clone(),
            };
            if may(self.leases.get(&at)) {
                let subscriber = request.subscriber.clone();
                self.leases.insert(at, Lease { subscriber, until });
                leased.push(partition.clone());
            }
        }
        leased
    }
}

#[async_trait]
impl PartitionLeaseStore for MemoryLog {
    async fn acquire(&self, request: &LeaseRequest) -> Result<Vec<PartitionKey>> {
        self.call(|state| {
            let now = state.now;
            state.lease(request, |lease| {
                lease.is_none_or(|l| l.subscriber == request.subscriber || l.until <= now)
            })
        })
    }

    async fn renew(&self, request: &LeaseRequest) -> Result<Vec<PartitionKey>> {
        self.call(|state| {
            state.lease(request, |lease| {
                lease.is_some_and(|l| l.subscriber == request.subscriber)
            })
        })
    }

    async fn release(
        &self,
        topic: &TopicName,
        group: &GroupName,
        subscriber: &SubscriberId,
        partitions: &[PartitionKey],
    ) -> Result<u64> {
        self.call(|state| {
            let before = state.leases.len();
            for partition in partitions {
                let at = GroupPartition {
                    topic: topic.clone(),
                    group: group.clone(),
                    partition: partition.clone(),
                };
                if state
                    .leases
                    .get(&at)
                    .is_some_and(|l| l.subscriber == *subscriber)
                {
                    state.leases.remove(&at);
                }
            }
            (before - state.leases.len()) as u64
        })
    }

    async fn list(
        &self,
        topic: Option<&TopicName>,
        group: Option<&GroupName>,
    ) -> Result<Vec<LeaseInfo>> {
        self.call(|state| {
            let is_wanted = |at: &GroupPartition| {
                topic.is_none_or(|t| at.topic == *t) && group.is_none_or(|g| at.group == *g)
            };
            let leases = state.leases.iter().filter(|(at, _)| is_wanted(at));
            let info = leases.map(|(at, lease)| LeaseInfo {
                at: at.clone(),
                subscriber: lease.subscriber.clone(),
                expires_in: lease.until.since(state.now),
                expired_for: state.now.since(lease.until),
            });
            info.collect()
        })
    }

    async fn evict(&self, at: &GroupPartition) -> Result<bool> {
        self.call(|state| state.leases.remove(at).is_some())
    }
}

#[async_trait]
impl SubscriberHeartbeatStore for MemoryLog {
    async fn beat(
        &self,
        topic: &TopicName,
        group: &GroupName,
        subscriber: &SubscriberId,
        valid_for: Duration,
    ) -> Result<()> {
        self.call(|state| {
            let key = (topic.clone(), group.clone(), subscriber.clone());
            state.heartbeats.insert(key, state.now.after(valid_for));
        })
    }

    async fn list(&self, topic: &TopicName, group: &GroupName) -> Result<Vec<Heartbeat>> {
        self.call(|state| {
            let all = state.heartbeats.iter();
            let wanted = all.filter(|((t, g, _), _)| t == topic && g == group);
            let heartbeat = wanted.map(|((_, _, subscriber), until)| Heartbeat {
                subscriber: subscriber.clone(),
                is_alive: *until > state.now,
            });
            heartbeat.collect()
        })
    }

    async fn remove(
        &self,
        topic: &TopicName,
        group: &GroupName,
        subscriber: &SubscriberId,
    ) -> Result<()> {
        self.call(|state| {
            let key = (topic.clone(), group.clone(), subscriber.clone());
            state.heartbeats.remove(&key);
        })
    }

    async fn purge(
        &self,
        topic: &TopicName,
        group: &GroupName,
        dead_for: Duration,
    ) -> Result<Vec<SubscriberId>> {
        self.call(|state| {
            let now = state.now;
            let mut purged = Vec::new();
            state.heartbeats.retain(|(t, g, subscriber), until| {
                let is_dead = t == topic && g == group && until.after(dead_for) <= now;
                if is_dead {
                    purged.push(subscriber.clone());
                }
                !is_dead
            });
            purged
        })
    }
}
