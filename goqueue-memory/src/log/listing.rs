use std::{ops::Bound, time::Duration};

use async_trait::async_trait;
use goqueue_core::{
    Error, Result,
    driver::{Page, PageRequest},
    log::{
        Message, MessageId, PartitionKey, TopicName,
        store::{MessageStore, TopicSize},
    },
};

use super::{MemoryLog, partition::Partition, state::State};

/// Where a page begins: behind this offset of this partition.
struct Place {
    offset: u64,
    partition: PartitionKey,
}

impl Place {
    fn parse(text: &str) -> Result<Self> {
        let parts = text.split_once(' ');
        let place = parts.and_then(|(offset, partition)| {
            Some(Self {
                offset: offset.parse().ok()?,
                partition: PartitionKey::new(partition).ok()?,
            })
        });
        place.ok_or_else(|| Error::Invalid {
            what: "page",
            given: text.into(),
            allowed: "the `next` of the page before",
        })
    }

    fn of(message: &Message) -> String {
        format!("{} {}", message.offset, message.partition)
    }
}

impl State {
    fn page(
        &self,
        topic: &TopicName,
        only: Option<&PartitionKey>,
        limit: usize,
        after: Option<&Place>,
    ) -> Page<Message> {
        let mut items = Vec::new();
        let partitions = self.topics.get(topic).map(|topic| &topic.partitions);
        let partitions = partitions.into_iter().flatten();
        for (key, partition) in partitions.filter(|(key, _)| only.is_none_or(|o| o == *key)) {
            let behind = match after {
                Some(place) if *key < place.partition => continue,
                Some(place) if *key == place.partition => place.offset,
                _ => 0,
            };
            let range = (Bound::Excluded(behind), Bound::Unbounded);
            for stored in partition.messages.range(range).map(|(_, stored)| stored) {
                if items.len() == limit {
                    let next = items.last().map(Place::of);
                    return Page { items, next };
                }
                items.push(stored.message.clone());
            }
        }
        Page { items, next: None }
    }

    fn size(&self, topic: &TopicName) -> TopicSize {
        let mut size = TopicSize::default();
        let partitions = self.topics.get(topic).map(|topic| &topic.partitions);
        for partition in partitions.into_iter().flat_map(|p| p.values()) {
            for stored in partition.messages.values() {
                size.messages += 1;
                size.bytes += stored.message.payload.len() as u64;
                size.delayed += u64::from(stored.visible > self.now);
                let age = self.now.since(stored.published);
                size.oldest = Some(size.oldest.unwrap_or_default().max(age));
            }
        }
        size
    }

    fn age(&self, partition: &Partition, behind: u64) -> Option<Duration> {
        let range = (Bound::Excluded(behind), Bound::Unbounded);
        let (_, stored) = partition.messages.range(range).next()?;
        Some(self.now.since(stored.published))
    }
}

#[async_trait]
impl MessageStore for MemoryLog {
    async fn list(
        &self,
        topic: &TopicName,
        partition: Option<&PartitionKey>,
        page: PageRequest,
    ) -> Result<Page<Message>> {
        let after = page.after.as_deref().map(Place::parse).transpose()?;
        self.call(|state| state.page(topic, partition, page.limit, after.as_ref()))
    }

    async fn find(&self, topic: &TopicName, id: &MessageId) -> Result<Vec<Message>> {
        self.call(|state| {
            let partitions = state.topics.get(topic).map(|topic| &topic.partitions);
            let partitions = partitions.into_iter().flat_map(|p| p.values());
            partitions.filter_map(|p| p.find(id)).cloned().collect()
        })
    }

    async fn size(&self, topic: &TopicName) -> Result<TopicSize> {
        self.call(|state| state.size(topic))
    }

    async fn ages(
        &self,
        topic: &TopicName,
        behind: &[(PartitionKey, u64)],
    ) -> Result<Vec<Option<Duration>>> {
        self.call(|state| {
            let age = |(key, offset): &(PartitionKey, u64)| {
                state.age(state.partition(topic, key)?, *offset)
            };
            behind.iter().map(age).collect()
        })
    }
}
