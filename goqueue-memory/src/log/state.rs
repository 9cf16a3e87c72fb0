use std::collections::BTreeMap;

use goqueue_core::log::{
    GroupName, PartitionKey, TopicName,
    store::{GroupPartition, SubscriberId},
};

use super::{partition::Partition, reader::Reader};
use crate::clock::{Clock, Moment};

/// Everything a log holds.
#[derive(Debug)]
pub(super) struct State {
    pub(super) clock: Clock,
    /// When the call that is under way began.
    pub(super) now: Moment,
    /// The same for people, in milliseconds since the Unix epoch.
    pub(super) unix_millis: u64,
    pub(super) topics: BTreeMap<TopicName, Topic>,
    pub(super) leases: BTreeMap<GroupPartition, Lease>,
    pub(super) heartbeats: BTreeMap<(TopicName, GroupName, SubscriberId), Moment>,
}

#[derive(Debug, Default)]
pub(super) struct Topic {
    pub(super) partitions: BTreeMap<PartitionKey, Partition>,
    /// Each group, and where it stands on the partitions that it has been to.
    pub(super) groups: BTreeMap<GroupName, BTreeMap<PartitionKey, Reader>>,
}

#[derive(Debug)]
pub(super) struct Lease {
    pub(super) subscriber: SubscriberId,
    pub(super) until: Moment,
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            clock: Clock::start(),
            now: Moment::START,
            unix_millis: 0,
            topics: BTreeMap::new(),
            leases: BTreeMap::new(),
            heartbeats: BTreeMap::new(),
        }
    }

    pub(super) fn tick(&mut self) {
        self.now = self.clock.now();
        self.unix_millis = self.clock.unix_millis();
    }

    /// The topic, made when it is new.
    pub(super) fn topic(&mut self, name: &TopicName) -> &mut Topic {
        self.topics.entry(name.clone()).or_default()
    }

    pub(super) fn partition(
        &self,
        topic: &TopicName,
        partition: &PartitionKey,
    ) -> Option<&Partition> {
        self.topics.get(topic)?.partitions.get(partition)
    }

    pub(super) fn reader(&self, at: &GroupPartition) -> Option<&Reader> {
        let readers = self.topics.get(&at.topic)?.groups.get(&at.group)?;
        readers.get(&at.partition)
    }
}

impl Topic {
    /// Where a group stands on a partition: at the very beginning, when it has not been there.
    pub(super) fn watermark(&self, group: &GroupName, partition: &PartitionKey) -> u64 {
        let reader = self
            .groups
            .get(group)
            .and_then(|readers| readers.get(partition));
        reader.map(Reader::watermark).unwrap_or_default()
    }
}
