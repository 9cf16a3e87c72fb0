use std::ops::Bound;

use goqueue_core::log::store::{Delivered, Fetch, FetchRequest, GroupPartition, SubscriberId};

use super::{partition::Partition, reader::Reader, state::State};
use crate::clock::Moment;

impl State {
    pub(super) fn fetch(&mut self, request: &FetchRequest) -> Fetch {
        if !self.is_leased_to(&request.at, &request.subscriber) {
            return Fetch::LeaseLost;
        }
        let now = self.now;
        let Some(topic) = self.topics.get_mut(&request.at.topic) else {
            return Fetch::Taken(Vec::new());
        };
        let partition = topic.partitions.get(&request.at.partition);
        let readers = topic.groups.get_mut(&request.at.group);
        let (Some(partition), Some(readers)) = (partition, readers) else {
            return Fetch::Taken(Vec::new());
        };
        let reader = readers.entry(request.at.partition.clone()).or_default();
        reader.promote(now);
        let offsets = if reader.is_held() {
            Vec::new()
        } else if request.is_serial {
            choose_one(reader, partition, now).into_iter().collect()
        } else {
            choose(reader, partition, now, request.max)
        };
        let deliver = |offset| deliver(reader, partition, offset, now, request);
        Fetch::Taken(offsets.into_iter().filter_map(deliver).collect())
    }

    fn is_leased_to(&self, at: &GroupPartition, subscriber: &SubscriberId) -> bool {
        let lease = self.leases.get(at);
        lease.is_some_and(|lease| lease.subscriber == *subscriber && lease.until > self.now)
    }
}

/// The open messages that are visible, and what lies behind the cursor, in order.
fn choose(reader: &mut Reader, partition: &Partition, now: Moment, max: usize) -> Vec<u64> {
    let mut chosen = due(reader, partition, max);
    chosen.extend(read_on(reader, partition, now, max - chosen.len()));
    chosen
}

/// What may be delivered while nothing else is under way.
fn choose_one(reader: &mut Reader, partition: &Partition, now: Moment) -> Option<u64> {
    loop {
        match reader.first_in_line() {
            Some((offset, _)) if !partition.messages.contains_key(&offset) => {
                reader.take(offset);
            }
            Some((offset, is_due)) => return is_due.then_some(offset),
            None => return choose(reader, partition, now, 1).pop(),
        }
    }
}

/// Up to `max` open messages that are visible. Those whose message is gone are dropped.
fn due(reader: &mut Reader, partition: &Partition, max: usize) -> Vec<u64> {
    loop {
        let mut due = reader.due(max);
        let before = due.len();
        due.retain(|offset| {
            let is_there = partition.messages.contains_key(offset);
            if !is_there {
                reader.take(*offset);
            }
            is_there
        });
        if due.len() == before {
            return due;
        }
    }
}

/// Up to `max` visible messages behind the cursor, which follows. What is not visible yet becomes
/// open.
fn read_on(reader: &mut Reader, partition: &Partition, now: Moment, max: usize) -> Vec<u64> {
    let mut read = Vec::new();
    if max == 0 {
        return read;
    }
    let behind = (Bound::Excluded(reader.cursor), Bound::Unbounded);
    for (offset, stored) in partition.messages.range(behind) {
        reader.cursor = *offset;
        if stored.visible > now {
            reader.put(*offset, now, |open| open.until = stored.visible);
            continue;
        }
        read.push(*offset);
        if read.len() == max {
            return read;
        }
    }
    reader.cursor = partition.head;
    read
}

fn deliver(
    reader: &mut Reader,
    partition: &Partition,
    offset: u64,
    now: Moment,
    request: &FetchRequest,
) -> Option<Delivered> {
    let stored = partition.messages.get(&offset)?;
    let mut attempt = 0;
    reader.put(offset, now, |open| {
        open.attempt = open.attempt.saturating_add(1);
        open.until = now.after(request.visibility);
        open.receipt = Some(request.receipt);
        open.is_holding = false;
        attempt = open.attempt;
    });
    Some(Delivered {
        message: stored.message.clone(),
        attempt,
    })
}
