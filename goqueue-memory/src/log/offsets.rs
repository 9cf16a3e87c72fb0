use std::collections::BTreeMap;

use async_trait::async_trait;
use goqueue_core::{
    Result,
    log::{
        GroupName, StartFrom, TopicName,
        store::{OffsetStore, PartitionOffsets, TopicInfo},
    },
};

use super::{MemoryLog, reader::Reader, state::State};

impl State {
    fn register(&mut self, topic: &TopicName, group: &GroupName, start_from: StartFrom) -> bool {
        let topic = self.topic(topic);
        if topic.groups.contains_key(group) {
            return false;
        }
        let readers = match start_from {
            StartFrom::Beginning => BTreeMap::new(),
            StartFrom::End => {
                let heads = topic.partitions.iter();
                heads
                    .map(|(key, p)| (key.clone(), Reader::at(p.head)))
                    .collect()
            }
        };
        topic.groups.insert(group.clone(), readers);
        true
    }

    fn offsets(&self, name: &TopicName, group: &GroupName) -> Vec<PartitionOffsets> {
        let Some(topic) = self.topics.get(name) else {
            return Vec::new();
        };
        let readers = topic.groups.get(group);
        let row = |(key, partition): (
            &goqueue_core::log::PartitionKey,
            &super::partition::Partition,
        )| {
            let reader = readers.and_then(|readers| readers.get(key));
            PartitionOffsets {
                partition: key.clone(),
                head: partition.head,
                tail: partition.tail,
                cursor: reader.map(|reader| reader.cursor).unwrap_or_default(),
                watermark: topic.watermark(group, key),
            }
        };
        topic.partitions.iter().map(row).collect()
    }
}

#[async_trait]
impl OffsetStore for MemoryLog {
    async fn register(
        &self,
        topic: &TopicName,
        group: &GroupName,
        start_from: StartFrom,
    ) -> Result<bool> {
        self.call(|state| state.register(topic, group, start_from))
    }

    async fn partitions(
        &self,
        topic: &TopicName,
        group: &GroupName,
    ) -> Result<Vec<PartitionOffsets>> {
        self.call(|state| state.offsets(topic, group))
    }

    async fn topics(&self) -> Result<Vec<TopicInfo>> {
        self.call(|state| {
            let info = |(name, topic): (&TopicName, &super::state::Topic)| TopicInfo {
                topic: name.clone(),
                partitions: topic.partitions.len() as u64,
                span: topic.partitions.values().map(|p| p.head - p.tail).sum(),
                groups: topic.groups.len() as u64,
            };
            state.topics.iter().map(info).collect()
        })
    }

    async fn groups(&self, topic: &TopicName) -> Result<Vec<GroupName>> {
        self.call(|state| {
            let topic = state.topics.get(topic);
            topic
                .map(|topic| topic.groups.keys().cloned().collect())
                .unwrap_or_default()
        })
    }
}
