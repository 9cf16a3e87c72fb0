use std::collections::{BTreeMap, HashMap};

use goqueue_core::log::{Message, MessageId, Metadata, Outgoing, PartitionKey, Published};

use crate::clock::Moment;

/// The messages of one partition.
#[derive(Debug, Default)]
pub(super) struct Partition {
    /// The offset given out last.
    pub(super) head: u64,
    /// The highest offset that was collected.
    pub(super) tail: u64,
    pub(super) messages: BTreeMap<u64, Stored>,
    ids: HashMap<MessageId, u64>,
}

#[derive(Debug)]
pub(super) struct Stored {
    pub(super) message: Message,
    pub(super) published: Moment,
    pub(super) visible: Moment,
}

/// When a message is appended, and when it is seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) now: Moment,
    pub(super) unix_millis: u64,
    pub(super) visible: Moment,
}

impl Partition {
    pub(super) fn append(&mut self, message: Outgoing, times: Times) -> Published {
        if let Some(offset) = self.ids.get(&message.id) {
            return Published::Duplicate { offset: *offset };
        }
        let Outgoing {
            id,
            partition,
            payload,
            metadata,
        } = message;
        self.head += 1;
        let offset = self.head;
        self.ids.insert(id.clone(), offset);
        let message = Message {
            id,
            partition,
            offset,
            payload,
            metadata,
            published_at: times.unix_millis,
        };
        let stored = Stored {
            message,
            published: times.now,
            visible: times.visible,
        };
        self.messages.insert(offset, stored);
        Published::Stored { offset }
    }

    pub(super) fn remove(&mut self, offset: u64) -> Option<Stored> {
        let stored = self.messages.remove(&offset)?;
        self.ids.remove(&stored.message.id);
        Some(stored)
    }

    pub(super) fn clear(&mut self) -> u64 {
        let count = self.messages.len() as u64;
        self.messages.clear();
        self.ids.clear();
        self.tail = self.head;
        count
    }

    pub(super) fn find(&self, id: &MessageId) -> Option<&Message> {
        Some(&self.messages.get(self.ids.get(id)?)?.message)
    }
}

/// A message under another id, with other metadata.
pub(super) fn copy(message: &Message, id: MessageId, metadata: Metadata) -> Outgoing {
    Outgoing {
        id,
        partition: PartitionKey::clone(&message.partition),
        payload: message.payload.clone(),
        metadata,
    }
}
