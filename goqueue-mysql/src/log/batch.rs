//! The messages of one publishing, and the offsets they get.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write,
    time::Duration,
};

use goqueue_core::log::{
    MessageId, Outgoing, PartitionKey, Published, TopicName, store::PublishRequest,
};
use sqlx::{MySql, mysql::MySqlArguments, query::Query};

use super::sql::{self, Word, key};
use crate::{
    clock,
    connections::Answer,
    error::Fault,
    row,
    sql::{Hex, joined},
};

/// A message by what makes it the same as another.
pub(super) type Identity<'a> = (&'a PartitionKey, &'a MessageId);
/// Offsets of messages that were there before.
pub(super) type Known<'a> = HashMap<Identity<'a>, u64>;

/// What a row says beside partition, id, metadata and payload.
const AROUND: usize = 64;
/// The values of one row, bound.
pub(super) const BOUND: &str = "(?, ?, ?, ?, ?, ?, ?, ?)";

/// The messages of a call, each id once.
pub(super) struct Batch<'a> {
    pub(super) topic: &'a TopicName,
    delay: Duration,
    /// The partitions by key, and how many of the messages each gets at most.
    pub(super) partitions: Vec<(&'a PartitionKey, u64)>,
    /// The messages that no earlier one has the id of, and where their partitions are in that list.
    unique: Vec<(&'a Outgoing, usize)>,
    /// Which of those each message of the call is.
    which: Vec<usize>,
}

/// The last offset that each partition of a batch has given out, and the time.
pub(super) struct Heads {
    last: Vec<u64>,
    pub(super) now: u64,
}

/// A message with an offset of its own, as it is stored.
pub(super) struct Row<'a> {
    message: &'a Outgoing,
    offset: u64,
    metadata: Option<Vec<u8>>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(request: &'a PublishRequest) -> Self {
        let mut seen = HashMap::with_capacity(request.messages.len());
        let mut counts = BTreeMap::<_, u64>::new();
        let mut first = Vec::with_capacity(request.messages.len());
        let mut which = Vec::with_capacity(request.messages.len());
        for message in &request.messages {
            let place = *seen
                .entry((&message.partition, &message.id))
                .or_insert_with(|| {
                    *counts.entry(&message.partition).or_default() += 1;
                    first.push(message);
                    first.len() - 1
                });
            which.push(place);
        }
        let partitions: Vec<_> = counts.into_iter().collect();
        let place = |message: &&Outgoing| {
            let found = partitions.binary_search_by_key(&&message.partition, |(of, _)| *of);
            // Every partition of a message is in the list.
            found.unwrap_or_default()
        };
        let unique = first.iter().map(|message| (*message, place(message)));
        Self {
            topic: &request.topic,
            delay: request.delay,
            unique: unique.collect(),
            partitions,
            which,
        }
    }

    /// The messages, each id once.
    pub(super) fn unique(&self) -> impl Iterator<Item = &'a Outgoing> {
        self.unique.iter().map(|(message, _)| *message)
    }

    /// What the partitions answered when they gave out the offsets.
    pub(super) fn heads(&self, answer: &Answer) -> Result<Heads, Fault> {
        let mut last = vec![None; self.partitions.len()];
        let mut now = 0;
        for row in &answer.rows {
            let partition: &[u8] = row::get(row, "partition_key")?;
            let place = self
                .partitions
                .binary_search_by(|(of, _)| of.as_str().as_bytes().cmp(partition));
            if let Ok(place) = place {
                last[place] = Some(row::get(row, "last_offset")?);
            }
            now = row::get(row, "now_ms")?;
        }
        let last: Option<_> = last.into_iter().collect();
        let last = last.ok_or_else(|| Fault::Unusable("a partition gave no offset".into()))?;
        Ok(Heads { last, now })
    }

    /// The messages that are not known yet, numbered in the order of the call.
    pub(super) fn rows(&self, heads: &Heads, known: &Known<'_>) -> Result<Vec<Row<'a>>, Fault> {
        let counts = self.partitions.iter().map(|(_, count)| count);
        let mut next: Vec<u64> = heads
            .last
            .iter()
            .zip(counts)
            .map(|(last, count)| last + 1 - count)
            .collect();
        let mut rows = Vec::with_capacity(self.unique.len());
        for (message, partition) in &self.unique {
            if known.contains_key(&(&message.partition, &message.id)) {
                continue;
            }
            rows.push(Row {
                message,
                offset: next[*partition],
                metadata: sql::metadata_bytes(&message.metadata)?,
            });
            next[*partition] += 1;
        }
        Ok(rows)
    }

    /// The heads as they are without the messages that are known, for a statement.
    pub(super) fn heads_without(&self, heads: &Heads, known: &Known<'_>) -> String {
        let topic = Word::from(self.topic);
        let partitions = self.partitions.iter().zip(&heads.last);
        joined(partitions, ", ", |text, ((partition, _), last)| {
            let unused = known.keys().filter(|(of, _)| of == partition).count() as u64;
            let (key, last) = (key(partition), last - unused);
            write!(text, "({topic}, '', {key}, {last}, 0)")
        })
    }

    /// What became of each message of the call. One whose id an earlier one has is its duplicate.
    pub(super) fn outcomes(&self, rows: &[Row<'_>], known: &Known<'_>) -> Vec<Published> {
        let mut rows = rows.iter();
        let outcomes: Vec<_> = self
            .unique()
            .map(|message| {
                let known = known.get(&(&message.partition, &message.id)).copied();
                let stored = |row: &Row<'_>| Published::Stored { offset: row.offset };
                match known {
                    Some(offset) => Some(Published::Duplicate { offset }),
                    None => rows.next().map(stored),
                }
            })
            .collect();
        let mut told = 0;
        let outcome = |place: &usize| {
            let outcome = outcomes.get(*place).copied().flatten()?;
            let is_first = *place == told;
            told += usize::from(is_first);
            Some(match outcome {
                Published::Stored { offset } if !is_first => Published::Duplicate { offset },
                outcome => outcome,
            })
        };
        self.which.iter().filter_map(outcome).collect()
    }

    /// When messages that are stored `now` become visible; 0 is at once.
    fn visible_after(&self, now: u64) -> u64 {
        match u64::try_from(clock::delay(self.delay)).unwrap_or_default() {
            0 => 0,
            delay => now + delay,
        }
    }

    /// Rows as the text of a statement.
    pub(super) fn text(&self, rows: &[Row<'_>], now: u64) -> String {
        let (topic, visible_after) = (Word::from(self.topic), self.visible_after(now));
        joined(rows, ", ", |text, row| {
            let Outgoing {
                id,
                partition,
                payload,
                ..
            } = row.message;
            let (offset, key, id) = (row.offset, key(partition), sql::id(id));
            write!(
                text,
                "({topic}, {key}, {offset}, {id}, {now}, {visible_after}, "
            )?;
            match &row.metadata {
                Some(metadata) => write!(text, "{}", Hex(metadata))?,
                None => text.write_str("NULL")?,
            }
            write!(text, ", {})", Hex(payload))
        })
    }

    /// A statement with the values of rows.
    pub(super) fn bind<'q>(
        &'q self,
        mut query: Query<'q, MySql, MySqlArguments>,
        rows: &'q [Row<'_>],
        now: u64,
    ) -> Query<'q, MySql, MySqlArguments> {
        let visible_after = self.visible_after(now);
        for row in rows {
            query = query
                .bind(self.topic.as_str())
                .bind(row.message.partition.as_str().as_bytes())
                .bind(row.offset)
                .bind(row.message.id.as_str().as_bytes())
                .bind(now)
                .bind(visible_after)
                .bind(row.metadata.as_deref())
                .bind(&row.message.payload[..]);
        }
        query
    }
}

impl Row<'_> {
    /// The bytes it takes in a statement that it is bound to, about.
    pub(super) fn size(&self) -> usize {
        let message = self.message;
        let words = message.partition.as_str().len() + message.id.as_str().len();
        let metadata = self.metadata.as_ref().map_or(0, Vec::len);
        AROUND + words + metadata + message.payload.len()
    }
}
