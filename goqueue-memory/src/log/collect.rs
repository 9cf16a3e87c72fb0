use goqueue_core::log::{
    GroupName,
    store::{CollectRequest, Collected, Expired},
};

use super::{
    partition::Partition,
    reader::Reader,
    state::{State, Topic},
};
use crate::clock::Moment;

impl State {
    pub(super) fn collect(&mut self, request: &CollectRequest) -> Collected {
        let now = self.now;
        let mut collected = Collected::default();
        let Some(topic) = self.topics.get_mut(&request.topic) else {
            return collected;
        };
        let Topic { partitions, groups } = topic;
        let mut room = request.max;
        for (key, partition) in partitions {
            let watermarks = groups.iter().map(|(group, readers)| {
                let watermark = readers.get(key).map(Reader::watermark);
                (group, watermark.unwrap_or_default())
            });
            let watermarks: Vec<_> = watermarks.collect();
            let floor = watermarks.iter().map(|(_, watermark)| *watermark).min();
            let floor = floor.unwrap_or_default();
            let is_acked = |offset: u64, _: &_| offset <= floor;
            let (acked, is_done) = take_while(partition, room, is_acked);
            room -= acked as usize;
            collected.acked += acked;
            collected.has_more |= !is_done;
            let Some(retention) = request.retention else {
                continue;
            };
            let is_old = |_: u64, visible: &Moment| visible.after(retention) < now;
            let (messages, is_done) = take_while(partition, room, is_old);
            room -= messages as usize;
            collected.has_more |= !is_done;
            if messages > 0 {
                let behind = watermarks.iter().filter(|(_, mark)| *mark < partition.tail);
                let expired = Expired {
                    partition: key.clone(),
                    messages,
                    groups: behind.map(|(group, _)| GroupName::clone(group)).collect(),
                };
                collected.expired.push(expired);
                for readers in groups.values_mut() {
                    readers
                        .entry(key.clone())
                        .or_default()
                        .skip_to(partition.tail);
                }
            }
        }
        collected
    }
}

/// Removes up to `room` messages from the front for as long as `is_done_with` says so. Answers how
/// many, and whether that was all.
fn take_while(
    partition: &mut Partition,
    room: usize,
    is_done_with: impl Fn(u64, &Moment) -> bool,
) -> (u64, bool) {
    let mut count = 0;
    while let Some((offset, stored)) = partition.messages.first_key_value() {
        let offset = *offset;
        if !is_done_with(offset, &stored.visible) {
            break;
        }
        if count == room as u64 {
            return (count, false);
        }
        partition.remove(offset);
        partition.tail = offset;
        count += 1;
    }
    (count, true)
}
