//! The log's statements, a folder for each table and one for what goes across, and how its names
//! and values get into them.

use std::fmt::{self, Display, Write};

use bytes::Bytes;
use goqueue_core::log::{
    GroupName, Message, MessageId, Metadata, PartitionKey, SubscriberName, TopicName,
    store::{OpenMessage, Receipt},
};
use sqlx::mysql::MySqlRow;

use crate::{
    error::Fault,
    row,
    sql::{Hex, joined, statements},
};

statements! {
    /// What asks `queue_messages`.
    Messages in "sql/messages": ages find list size
}

statements! {
    /// What asks and changes `queue_delivery_state`.
    Deliveries in "sql/deliveries": extend of_message open under_receipt
}

statements! {
    /// What asks and changes `queue_offsets`.
    Offsets in "sql/offsets":
    group_offsets groups is_known partitions register register_at_end topics
}

statements! {
    /// What asks and changes `queue_partition_leases`.
    Leases in "sql/leases": acquire evict held list release renew
}

statements! {
    /// What asks and changes `queue_subscriber_heartbeats`.
    Heartbeats in "sql/heartbeats": beat bury dead list remove
}

statements! {
    /// What goes across tables.
    Across in "sql/across":
    ack append back_to_mark begin bounds commit deliveries due expired floors forget forget_removed forget_some
    gate give_back given_up heads known_heads lock_letters lock_place lock_places lock_tails look
    make_gate make_heads make_place mark move_cursor move_tails move_watermarks offsets_of_ids oldest
    open purge_open purge_places raise_heads read remove remove_some reset_place set_heads stands
    take try_gate unread
}

/// All of them.
#[derive(Debug)]
pub(crate) struct LogStatements {
    pub(crate) messages: Messages,
    pub(crate) deliveries: Deliveries,
    pub(crate) offsets: Offsets,
    pub(crate) leases: Leases,
    pub(crate) heartbeats: Heartbeats,
    pub(crate) across: Across,
}

impl LogStatements {
    pub(crate) fn new(prefix: &str) -> Self {
        Self {
            messages: Messages::new(prefix),
            deliveries: Deliveries::new(prefix),
            offsets: Offsets::new(prefix),
            leases: Leases::new(prefix),
            heartbeats: Heartbeats::new(prefix),
            across: Across::new(prefix),
        }
    }
}

/// A topic, a group or a subscriber as a literal.
pub(crate) struct Word<'a>(&'a str);

impl<'a> From<&'a TopicName> for Word<'a> {
    fn from(name: &'a TopicName) -> Self {
        Self(name.as_str())
    }
}

impl<'a> From<&'a GroupName> for Word<'a> {
    fn from(name: &'a GroupName) -> Self {
        Self(name.as_str())
    }
}

impl<'a> From<&'a SubscriberName> for Word<'a> {
    fn from(name: &'a SubscriberName) -> Self {
        Self(name.as_str())
    }
}

impl Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if self.0.chars().all(is_plain) {
            return write!(f, "'{}'", self.0);
        }
        // Only a row that somebody wrote by hand has such a name.
        write!(f, "_ascii {}", Hex(self.0.as_bytes()))
    }
}

/// A partition key as a literal.
pub(crate) fn key(partition: &PartitionKey) -> Hex<'_> {
    Hex(partition.as_str().as_bytes())
}

/// Partition keys with commas between them.
pub(crate) fn keys<'a>(partitions: impl IntoIterator<Item = &'a PartitionKey>) -> String {
    joined(partitions, ",", |text, partition| {
        write!(text, "{}", key(partition))
    })
}

/// A message's id as a literal.
pub(crate) fn id(id: &MessageId) -> Hex<'_> {
    Hex(id.as_str().as_bytes())
}

/// Deliveries as a condition: neighbours of one receipt are one range.
pub(crate) fn deliveries<'a>(
    deliveries: impl IntoIterator<Item = (&'a PartitionKey, u64, Receipt)>,
) -> String {
    let mut sorted: Vec<_> = deliveries
        .into_iter()
        .map(|(partition, offset, Receipt(receipt))| (partition, receipt, offset))
        .collect();
    sorted.sort_unstable();
    let mut ranges: Vec<(&PartitionKey, u64, u64, u64)> = Vec::new();
    for (partition, receipt, offset) in sorted {
        match ranges.last_mut() {
            Some((p, r, _, last)) if (*p, *r) == (partition, receipt) && offset <= *last + 1 => {
                *last = offset;
            }
            _ => ranges.push((partition, receipt, offset, offset)),
        }
    }
    joined(ranges, " OR ", |text, (partition, receipt, first, last)| {
        let key = key(partition);
        write!(
            text,
            "(partition_key = {key} AND receipt = {receipt} AND `offset` BETWEEN {first} AND {last})"
        )
    })
}

/// The deliveries of a call as a condition.
pub(crate) fn open_messages(messages: &[OpenMessage]) -> String {
    deliveries(
        messages
            .iter()
            .map(|open| (&open.partition, open.offset, open.receipt)),
    )
}

/// The columns of a message.
pub(crate) fn message(row: &MySqlRow) -> Result<Message, Fault> {
    let id: Vec<u8> = row::get(row, "id")?;
    let payload: &[u8] = row::get(row, "payload")?;
    Ok(Message {
        id: MessageId::from_stored(text(id, "message id")?),
        partition: partition(row)?,
        offset: row::get(row, "offset")?,
        payload: Bytes::copy_from_slice(payload),
        metadata: metadata(row)?,
        published_at: row::get(row, "published_at")?,
    })
}

pub(crate) fn partition(row: &MySqlRow) -> Result<PartitionKey, Fault> {
    let key: Vec<u8> = row::get(row, "partition_key")?;
    Ok(PartitionKey::from_stored(text(key, "partition key")?))
}

pub(crate) fn group(row: &MySqlRow) -> Result<GroupName, Fault> {
    let name: String = row::get(row, "consumer_group")?;
    Ok(GroupName::from_stored(name))
}

/// Metadata as it is stored: a JSON object of texts, or nothing.
pub(crate) fn metadata_bytes(metadata: &Metadata) -> Result<Option<Vec<u8>>, Fault> {
    if metadata.is_empty() {
        return Ok(None);
    }
    let json = serde_json::to_vec(metadata);
    let json =
        json.map_err(|error| Fault::Unusable(format!("metadata does not encode: {error}")))?;
    Ok(Some(json))
}

fn metadata(row: &MySqlRow) -> Result<Metadata, Fault> {
    let json: Option<&[u8]> = row::get(row, "metadata")?;
    let Some(json) = json else {
        return Ok(Metadata::new());
    };
    serde_json::from_slice(json)
        .map_err(|error| Fault::Corrupt(format!("metadata of a message: {error}")))
}

fn text(bytes: Vec<u8>, what: &str) -> Result<String, Fault> {
    String::from_utf8(bytes).map_err(|_| Fault::Corrupt(format!("a {what} that is not UTF-8")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::assert_files;

    #[test]
    fn every_file_is_used_and_says_what_it_is_for() {
        assert_files("src/log/sql/messages", Messages::FILES);
        assert_files("src/log/sql/deliveries", Deliveries::FILES);
        assert_files("src/log/sql/offsets", Offsets::FILES);
        assert_files("src/log/sql/leases", Leases::FILES);
        assert_files("src/log/sql/heartbeats", Heartbeats::FILES);
        assert_files("src/log/sql/across", Across::FILES);
    }

    #[test]
    fn a_store_asks_its_own_table_alone() {
        for (folder, table) in [
            ("messages", "messages"),
            ("deliveries", "delivery_state"),
            ("offsets", "offsets"),
            ("leases", "partition_leases"),
            ("heartbeats", "subscriber_heartbeats"),
        ] {
            let folder = format!("{}/src/log/sql/{folder}", env!("CARGO_MANIFEST_DIR"));
            for file in std::fs::read_dir(folder).unwrap() {
                let path = file.unwrap().path();
                let text = std::fs::read_to_string(&path).unwrap();
                let tables: Vec<_> = text.split("{prefix}_queue_").skip(1).collect();
                assert!(!tables.is_empty(), "{path:?} asks nothing");
                for used in tables {
                    assert!(used.starts_with(table), "{path:?} asks another table");
                }
            }
        }
    }

    #[test]
    fn neighbours_are_one_range() {
        let (a, b) = (
            PartitionKey::from_stored("a"),
            PartitionKey::from_stored("b"),
        );
        let (r, s) = (Receipt(1), Receipt(2));
        let text = deliveries([(&b, 2, r), (&a, 3, r), (&a, 1, r), (&a, 2, r), (&a, 4, s)]);
        assert_eq!(
            text,
            "(partition_key = x'61' AND receipt = 1 AND `offset` BETWEEN 1 AND 3) OR \
             (partition_key = x'61' AND receipt = 2 AND `offset` BETWEEN 4 AND 4) OR \
             (partition_key = x'62' AND receipt = 1 AND `offset` BETWEEN 2 AND 2)"
        );
    }

    #[test]
    fn a_name_that_was_written_by_hand_is_no_sql() {
        let name = |text: &'static str| Word(text).to_string();
        assert_eq!(name("orders.v1_dlq"), "'orders.v1_dlq'");
        assert_eq!(name("a'b"), "_ascii x'612762'");
    }
}
