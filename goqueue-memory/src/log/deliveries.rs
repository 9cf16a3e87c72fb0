use std::time::Duration;

use async_trait::async_trait;
use goqueue_core::{
    Result,
    log::{
        GroupName, PartitionKey, TopicName,
        store::{DeliveryState, DeliveryStateStore, GroupPartition, OpenMessage, Settled},
    },
};

use super::{MemoryLog, state::State};

impl State {
    fn extend(
        &mut self,
        topic: &TopicName,
        group: &GroupName,
        open: &OpenMessage,
        by: Duration,
    ) -> Settled {
        let now = self.now;
        let readers = self
            .topics
            .get_mut(topic)
            .and_then(|t| t.groups.get_mut(group));
        match readers.and_then(|readers| readers.get_mut(&open.partition)) {
            Some(reader) if reader.is_current(open.offset, open.receipt) => {
                reader.put(open.offset, now, |state| state.until = now.after(by));
                Settled::Done
            }
            _ => Settled::Lost,
        }
    }
}

#[async_trait]
impl DeliveryStateStore for MemoryLog {
    async fn extend(
        &self,
        topic: &TopicName,
        group: &GroupName,
        deliveries: &[OpenMessage],
        by: Duration,
    ) -> Result<Vec<Settled>> {
        self.call(|state| {
            let extend = |open| state.extend(topic, group, open, by);
            deliveries.iter().map(extend).collect()
        })
    }

    async fn of_message(
        &self,
        topic: &TopicName,
        partition: &PartitionKey,
        offset: u64,
    ) -> Result<Vec<(GroupName, DeliveryState)>> {
        self.call(|state| {
            let groups = state.topics.get(topic).map(|topic| &topic.groups);
            let groups = groups.into_iter().flatten();
            let known = groups.filter_map(|(group, readers)| {
                let reader = readers.get(partition)?;
                reader.get(offset)?;
                let found = reader.states(state.now).find(|s| s.offset == offset)?;
                Some((group.clone(), found))
            });
            known.collect()
        })
    }

    async fn open(&self, at: &GroupPartition, limit: usize) -> Result<Vec<DeliveryState>> {
        self.call(|state| {
            let reader = state.reader(at);
            reader
                .map(|r| r.states(state.now).take(limit).collect())
                .unwrap_or_default()
        })
    }
}
