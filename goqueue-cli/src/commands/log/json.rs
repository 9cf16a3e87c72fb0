//! The JSON answers of the log, described in `docs/src/json-output.md`.

use std::collections::BTreeMap;

use goqueue::log::{Message, store::LeaseInfo};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::output::json::millis;

#[derive(Serialize)]
pub(super) struct Topics {
    pub(super) topics: Vec<Topic>,
}

#[derive(Serialize)]
pub(super) struct Topic {
    pub(super) topic: String,
    pub(super) partitions: u64,
    pub(super) span: u64,
    pub(super) groups: u64,
}

#[derive(Serialize)]
pub(super) struct Stats {
    pub(super) topic: String,
    pub(super) messages: u64,
    pub(super) bytes: u64,
    pub(super) delayed: u64,
    pub(super) oldest_ms: Option<u64>,
    pub(super) partitions: u64,
    pub(super) groups: Vec<GroupLag>,
    pub(super) dead_letters: u64,
}

#[derive(Serialize)]
pub(super) struct GroupLag {
    pub(super) group: String,
    pub(super) lag: u64,
}

#[derive(Serialize)]
pub(super) struct Messages {
    pub(super) topic: String,
    pub(super) messages: Vec<MessageLine>,
    pub(super) next: Option<String>,
}

#[derive(Serialize)]
pub(super) struct MessageLine {
    pub(super) id: String,
    pub(super) partition: String,
    pub(super) offset: u64,
    pub(super) published_at: u64,
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) payload: Option<Box<RawValue>>,
    pub(super) text: Option<String>,
    pub(super) hex: Option<String>,
}

impl MessageLine {
    pub(super) fn new(message: &Message) -> Self {
        let payload: Option<Box<RawValue>> = serde_json::from_slice(&message.payload).ok();
        let text = std::str::from_utf8(&message.payload).ok();
        let hex = || {
            message
                .payload
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect()
        };
        Self {
            id: message.id.to_string(),
            partition: message.partition.to_string(),
            offset: message.offset,
            published_at: message.published_at,
            metadata: message.metadata.clone(),
            text: text.filter(|_| payload.is_none()).map(str::to_owned),
            hex: text.is_none().then(hex),
            payload,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Shown {
    pub(super) topic: String,
    pub(super) messages: Vec<ShownMessage>,
}

#[derive(Serialize)]
pub(super) struct ShownMessage {
    #[serde(flatten)]
    pub(super) message: MessageLine,
    pub(super) open: Vec<Open>,
}

#[derive(Serialize)]
pub(super) struct Open {
    pub(super) group: String,
    pub(super) attempts: u32,
    pub(super) invisible_for_ms: u64,
    pub(super) holds_partition: bool,
    pub(super) last_error: Option<String>,
}

#[derive(Serialize)]
pub(super) struct DeadLetters {
    pub(super) topic: String,
    pub(super) dead_letters: Vec<DeadLetter>,
    pub(super) next: Option<String>,
}

#[derive(Serialize)]
pub(super) struct DeadLetter {
    #[serde(flatten)]
    pub(super) message: MessageLine,
    pub(super) group: Option<String>,
    pub(super) failed_at: Option<u64>,
    pub(super) failure_count: Option<u32>,
    pub(super) last_error: Option<String>,
    pub(super) original_topic: Option<String>,
    pub(super) original_id: Option<String>,
    pub(super) original_offset: Option<u64>,
    pub(super) requeues: Option<u32>,
}

impl DeadLetter {
    pub(super) fn new(message: &Message) -> Self {
        let facts = message.dead_letter();
        let facts = facts.as_ref();
        Self {
            message: MessageLine::new(message),
            group: facts.map(|facts| facts.group.to_string()),
            failed_at: facts.map(|facts| facts.failed_at),
            failure_count: facts.map(|facts| facts.failure_count),
            last_error: facts.map(|facts| facts.last_error.clone()),
            original_topic: facts.map(|facts| facts.original_topic.to_string()),
            original_id: facts.map(|facts| facts.original_id.to_string()),
            original_offset: facts.map(|facts| facts.original_offset),
            requeues: facts.map(|facts| facts.requeues),
        }
    }
}

#[derive(Serialize)]
pub(super) struct Offsets {
    pub(super) topic: String,
    pub(super) offsets: Vec<OffsetLine>,
}

#[derive(Serialize)]
pub(super) struct OffsetLine {
    pub(super) group: String,
    pub(super) partition: String,
    pub(super) acked: u64,
    pub(super) read: u64,
    pub(super) latest: u64,
    pub(super) collected: u64,
    pub(super) lag: u64,
}

#[derive(Serialize)]
pub(super) struct Leases {
    pub(super) leases: Vec<Lease>,
}

#[derive(Serialize)]
pub(super) struct Lease {
    pub(super) topic: String,
    pub(super) group: String,
    pub(super) partition: String,
    pub(super) subscriber: String,
    pub(super) instance: String,
    pub(super) held: bool,
    pub(super) expires_in_ms: u64,
    pub(super) expired_for_ms: u64,
}

impl Lease {
    pub(super) fn new(info: &LeaseInfo) -> Self {
        Self {
            topic: info.at.topic.to_string(),
            group: info.at.group.to_string(),
            partition: info.at.partition.to_string(),
            subscriber: info.subscriber.name.to_string(),
            instance: format!("{:016x}", info.subscriber.instance),
            held: info.is_held(),
            expires_in_ms: millis(info.expires_in),
            expired_for_ms: millis(info.expired_for),
        }
    }
}

/// What a steering command did.
#[derive(Serialize)]
pub(super) struct Done {
    pub(super) topic: String,
    pub(super) done: u64,
    pub(super) interrupted: bool,
}
