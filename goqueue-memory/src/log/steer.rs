use goqueue_core::log::{PartitionKey, TopicName, marks, store::GroupPartition};

use super::{partition::copy, reader::Reader, state::State};

impl State {
    pub(super) fn delete(
        &mut self,
        topic: &TopicName,
        partition: &PartitionKey,
        offset: u64,
    ) -> bool {
        let Some(topic) = self.topics.get_mut(topic) else {
            return false;
        };
        let held = topic.partitions.get_mut(partition);
        let is_there = held.and_then(|held| held.remove(offset)).is_some();
        for readers in topic.groups.values_mut() {
            if let Some(reader) = readers.get_mut(partition) {
                reader.take(offset);
            }
        }
        is_there
    }

    pub(super) fn purge(&mut self, topic: &TopicName) -> u64 {
        let Some(topic) = self.topics.get_mut(topic) else {
            return 0;
        };
        let mut count = 0;
        for (key, partition) in &mut topic.partitions {
            count += partition.clear();
            for readers in topic.groups.values_mut() {
                readers
                    .entry(key.clone())
                    .or_default()
                    .skip_to(partition.head);
            }
        }
        count
    }

    pub(super) fn requeue(
        &mut self,
        letters: &TopicName,
        partition: &PartitionKey,
        offsets: &[u64],
    ) -> u64 {
        let mut moved = 0;
        for offset in offsets {
            let held = self.partition(letters, partition);
            let Some(stored) = held.and_then(|held| held.messages.get(offset)) else {
                continue;
            };
            let Some((topic, id, metadata)) = marks::requeued(&stored.message) else {
                continue;
            };
            let message = copy(&stored.message, id, metadata);
            self.append(&topic, message, self.at_once());
            self.delete(letters, partition, *offset);
            moved += 1;
        }
        moved
    }

    pub(super) fn reset(&mut self, at: &GroupPartition, to: u64) -> Option<u64> {
        let topic = self.topics.get_mut(&at.topic)?;
        let partition = topic.partitions.get(&at.partition)?;
        let readers = topic.groups.get_mut(&at.group)?;
        let to = to.clamp(partition.tail, partition.head);
        readers.insert(at.partition.clone(), Reader::at(to));
        Some(to)
    }
}
