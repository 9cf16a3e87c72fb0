use goqueue_core::log::{
    GroupName, PartitionKey, TopicName, marks,
    store::{Dead, Settled, Settlement, Verdict},
};

use super::{partition::copy, reader::Reader, state::State};

impl State {
    pub(super) fn settle(
        &mut self,
        topic: &TopicName,
        group: &GroupName,
        settlements: &[Settlement],
    ) -> Vec<Settled> {
        let settle = |settlement| self.settle_one(topic, group, settlement);
        settlements.iter().map(settle).collect()
    }

    fn settle_one(&mut self, topic: &TopicName, group: &GroupName, item: &Settlement) -> Settled {
        let now = self.now;
        let Some(reader) = self.current_reader(topic, group, item) else {
            return Settled::Lost;
        };
        match &item.verdict {
            Verdict::Ack => {
                reader.take(item.offset);
            }
            Verdict::Retry { delay, error } => reader.put(item.offset, now, |open| {
                open.until = now.after(*delay);
                open.receipt = None;
                open.last_error.clone_from(error);
            }),
            Verdict::Postpone { delay } => reader.put(item.offset, now, |open| {
                open.attempt = open.attempt.saturating_sub(1);
                open.until = now.after(*delay);
                open.receipt = None;
                open.is_holding = true;
            }),
            Verdict::Release => reader.put(item.offset, now, |open| {
                open.attempt = open.attempt.saturating_sub(1);
                open.until = now;
                open.receipt = None;
            }),
            Verdict::Dead(dead) => {
                reader.take(item.offset);
                self.bury(topic, group, &item.partition, item.offset, dead);
            }
        }
        Settled::Done
    }

    fn current_reader(
        &mut self,
        topic: &TopicName,
        group: &GroupName,
        item: &Settlement,
    ) -> Option<&mut Reader> {
        let readers = self.topics.get_mut(topic)?.groups.get_mut(group)?;
        let reader = readers.get_mut(&item.partition)?;
        reader
            .is_current(item.offset, item.receipt)
            .then_some(reader)
    }

    fn bury(
        &mut self,
        topic: &TopicName,
        group: &GroupName,
        partition: &PartitionKey,
        offset: u64,
        dead: &Dead,
    ) {
        let stored = self
            .partition(topic, partition)
            .and_then(|p| p.messages.get(&offset));
        // Somebody removed the message while it was being delivered: there is nothing to keep.
        let Some(stored) = stored else { return };
        let Dead {
            attempts, error, ..
        } = dead;
        let message = &stored.message;
        let (id, metadata) =
            marks::dead_letter(message, topic, group, *attempts, error, self.unix_millis);
        let letter = copy(message, id, metadata);
        self.append(&dead.topic, letter, self.at_once());
    }
}
