//! The log's own entries in a message's metadata: what makes a message a dead letter or a requeued
//! one.

use super::{
    message::{Message, Metadata},
    names::{GroupName, MessageId, TopicName},
};

/// What the names of all of them begin with.
pub const PREFIX: &str = "goqueue.";
/// When the message failed for the last time, in milliseconds since the Unix epoch.
pub const FAILED_AT: &str = "goqueue.failed_at";
/// How often it was delivered.
pub const FAILURE_COUNT: &str = "goqueue.failure_count";
/// Why it failed for the last time.
pub const LAST_ERROR: &str = "goqueue.last_error";
/// The topic it comes from.
pub const ORIGINAL_TOPIC: &str = "goqueue.original_topic";
/// The id it was published with.
pub const ORIGINAL_ID: &str = "goqueue.original_id";
/// Its place in the topic it comes from.
pub const ORIGINAL_OFFSET: &str = "goqueue.original_offset";
/// The group that gave it up, or, on a requeued message, the one group that it is for.
pub const GROUP: &str = "goqueue.consumer_group";
/// How often it was requeued.
pub const REQUEUES: &str = "goqueue.requeues";

/// The entries that only a dead letter has.
const OF_DEAD_LETTERS: [&str; 5] = [
    FAILED_AT,
    FAILURE_COUNT,
    LAST_ERROR,
    ORIGINAL_TOPIC,
    ORIGINAL_OFFSET,
];

/// What is known of a dead letter beside its payload and its own metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetterFacts {
    /// When it failed for the last time, in milliseconds since the Unix epoch.
    pub failed_at: u64,
    /// How often it was delivered.
    pub failure_count: u32,
    /// Why it failed for the last time.
    pub last_error: String,
    /// The topic it comes from.
    pub original_topic: TopicName,
    /// The id it was published with.
    pub original_id: MessageId,
    /// Its place in the topic it comes from.
    pub original_offset: u64,
    /// The group that gave it up.
    pub group: GroupName,
    /// How often it was requeued before.
    pub requeues: u32,
}

/// Id and metadata of the dead letter of a message. For drivers: the rest of the letter is the
/// message's own. The id is the same however often the same death is written down.
#[must_use]
pub fn dead_letter(
    message: &Message,
    topic: &TopicName,
    group: &GroupName,
    attempts: u32,
    error: &str,
    now: u64,
) -> (MessageId, Metadata) {
    let requeues = requeues(&message.metadata);
    let original = match message.metadata.get(ORIGINAL_ID) {
        Some(id) => id.clone(),
        None => message.id.as_str().to_owned(),
    };
    let id = derived(&original, group, requeues);
    let mut metadata = message.metadata.clone();
    let entries = [
        (FAILED_AT, now.to_string()),
        (FAILURE_COUNT, attempts.to_string()),
        (LAST_ERROR, error.to_owned()),
        (ORIGINAL_TOPIC, topic.as_str().to_owned()),
        (ORIGINAL_ID, original),
        (ORIGINAL_OFFSET, message.offset.to_string()),
        (GROUP, group.as_str().to_owned()),
    ];
    metadata.extend(entries.map(|(name, value)| (name.to_owned(), value)));
    (id, metadata)
}

/// Topic, id and metadata with which a dead letter goes back to where it came from, for the group
/// that had given it up and for no other. For drivers: partition and payload stay. `None` when the
/// message is no dead letter.
#[must_use]
pub fn requeued(letter: &Message) -> Option<(TopicName, MessageId, Metadata)> {
    let facts = DeadLetterFacts::of(letter)?;
    let requeues = facts.requeues.saturating_add(1);
    let id = derived(facts.original_id.as_str(), &facts.group, requeues);
    let mut metadata = letter.metadata.clone();
    for name in OF_DEAD_LETTERS {
        metadata.remove(name);
    }
    metadata.insert(REQUEUES.into(), requeues.to_string());
    Some((facts.original_topic, id, metadata))
}

/// The one group that a message is for; `None` when it is for all.
#[must_use]
pub fn only_for(metadata: &Metadata) -> Option<&str> {
    // A dead letter names a group as well, but is for whoever reads dead letters.
    if metadata.contains_key(FAILED_AT) || !metadata.contains_key(REQUEUES) {
        return None;
    }
    metadata.get(GROUP).map(String::as_str)
}

fn requeues(metadata: &Metadata) -> u32 {
    number(metadata, REQUEUES).unwrap_or_default()
}

fn number<T: std::str::FromStr>(metadata: &Metadata, name: &str) -> Option<T> {
    metadata.get(name)?.parse().ok()
}

fn derived(original: &str, group: &GroupName, requeues: u32) -> MessageId {
    MessageId::from_stored(match requeues {
        0 => format!("{original}@{group}"),
        n => format!("{original}@{group}+{n}"),
    })
}

impl DeadLetterFacts {
    /// What a message says of its death; `None` when it is no dead letter.
    #[must_use]
    pub fn of(message: &Message) -> Option<Self> {
        let metadata = &message.metadata;
        Some(Self {
            failed_at: number(metadata, FAILED_AT)?,
            failure_count: number(metadata, FAILURE_COUNT)?,
            last_error: metadata.get(LAST_ERROR)?.clone(),
            original_topic: TopicName::new(metadata.get(ORIGINAL_TOPIC)?).ok()?,
            original_id: MessageId::from_stored(metadata.get(ORIGINAL_ID)?.as_str()),
            original_offset: number(metadata, ORIGINAL_OFFSET)?,
            group: GroupName::new(metadata.get(GROUP)?).ok()?,
            requeues: requeues(metadata),
        })
    }
}

impl Message {
    /// What is known of the message's death, when it is a dead letter.
    #[must_use]
    pub fn dead_letter(&self) -> Option<DeadLetterFacts> {
        DeadLetterFacts::of(self)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::log::names::PartitionKey;

    fn message(id: MessageId, metadata: Metadata) -> Message {
        Message {
            id,
            partition: PartitionKey::new("p").unwrap(),
            offset: 7,
            payload: Bytes::from_static(b"x"),
            metadata,
            published_at: 1,
        }
    }

    #[test]
    fn a_letter_goes_back_and_dies_again_under_ids_of_its_own() {
        let (topic, group) = (
            TopicName::new("orders").unwrap(),
            GroupName::new("billing").unwrap(),
        );
        let own = Metadata::from([("tenant".to_owned(), "acme".to_owned())]);
        let first = message(MessageId::new("o-1").unwrap(), own.clone());
        let (id, metadata) = dead_letter(&first, &topic, &group, 3, "no", 99);
        assert_eq!(id.as_str(), "o-1@billing");
        let letter = message(id, metadata);
        assert_eq!(
            letter.dead_letter(),
            Some(DeadLetterFacts {
                failed_at: 99,
                failure_count: 3,
                last_error: "no".into(),
                original_topic: topic.clone(),
                original_id: first.id.clone(),
                original_offset: 7,
                group: group.clone(),
                requeues: 0,
            })
        );
        assert_eq!(only_for(&letter.metadata), None);

        let (back, id, metadata) = requeued(&letter).unwrap();
        assert_eq!((back, id.as_str()), (topic.clone(), "o-1@billing+1"));
        assert_eq!(only_for(&metadata), Some("billing"));
        assert_eq!(metadata.get("tenant").unwrap(), "acme");
        let again = message(id, metadata);
        assert_eq!(again.dead_letter(), None);

        let (id, metadata) = dead_letter(&again, &topic, &group, 1, "no", 100);
        assert_eq!(id.as_str(), "o-1@billing+1");
        let (_, id, _) = requeued(&message(id, metadata)).unwrap();
        assert_eq!(id.as_str(), "o-1@billing+2");
    }

    #[test]
    fn an_ordinary_message_is_no_letter() {
        let plain = message(MessageId::new("o-1").unwrap(), Metadata::new());
        assert_eq!(plain.dead_letter(), None);
        assert!(requeued(&plain).is_none());
        assert_eq!(only_for(&plain.metadata), None);
    }
}
