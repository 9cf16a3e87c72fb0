//! What administrators ask for: removing, purging, requeueing and resetting.

use std::{collections::BTreeMap, fmt::Write, time::Duration};

use goqueue_core::log::{
    Outgoing, PartitionKey, TopicName, marks,
    store::{GroupPartition, PublishRequest},
};
use sqlx::MySqlConnection;

use super::{
    Inner,
    publish::Transaction,
    sql::{self, Word, key},
};
use crate::{
    connections::send,
    error::Fault,
    row,
    sql::{Message as Text, joined, list},
};

/// How many messages one transaction of a purge removes.
const PURGED_AT_ONCE: u64 = 10_000;
/// Of how many partitions.
const PARTITIONS_AT_ONCE: usize = 100;

impl Inner {
    pub(super) async fn delete(
        &self,
        topic: &TopicName,
        partition: &PartitionKey,
        offset: u64,
    ) -> Result<bool, Fault> {
        let mut text = Text::new();
        text.put(&self.sql.across.begin, &[]);
        let removed = self.put_removal(&mut text, topic, partition, &[offset]);
        text.put(&self.sql.across.commit, &[]);
        Ok(self.ask(text).await?[removed].matched > 0)
    }

    /// Removes messages, for the groups that have them open too.
    fn put_removal(
        &self,
        text: &mut Text,
        topic: &TopicName,
        partition: &PartitionKey,
        offsets: &[u64],
    ) -> usize {
        let across = &self.sql.across;
        let (topic, partition) = (Word::from(topic), key(partition));
        let offsets = list(offsets.iter().copied());
        let removed = text.put(
            &across.remove_some,
            &[
                ("topic", &topic),
                ("partition", &partition),
                ("offsets", &offsets),
            ],
        );
        text.put(
            &across.forget_some,
            &[
                ("topic", &topic),
                ("partition", &partition),
                ("offsets", &offsets),
            ],
        );
        removed
    }

    pub(super) async fn purge(&self, topic: &TopicName) -> Result<u64, Fault> {
        let word = Word::from(topic);
        let across = &self.sql.across;
        let mut text = Text::new();
        text.put(&across.begin, &[]);
        text.put(&across.gate, &[("topic", &word)]);
        text.put(&across.purge_places, &[("topic", &word)]);
        text.put(&across.purge_open, &[("topic", &word)]);
        let places = text.put(&self.sql.offsets.partitions, &[("topic", &word)]);
        text.put(&across.commit, &[]);
        let answers = self.ask(text).await?;
        // From here on nobody sees the messages; should the rest fail, a collection removes them.
        let mut ends = Vec::new();
        for found in &answers[places].rows {
            ends.push((
                sql::partition(found)?,
                row::get::<u64>(found, "done_offset")?,
            ));
        }
        let mut purged = 0;
        for ends in ends.chunks(PARTITIONS_AT_ONCE) {
            let ranges = joined(ends, " OR ", |text, (partition, end)| {
                let key = key(partition);
                write!(text, "(partition_key = {key} AND `offset` <= {end})")
            });
            let limit = format!("LIMIT {PURGED_AT_ONCE}");
            loop {
                let mut text = Text::new();
                text.put(
                    &across.remove,
                    &[("topic", &word), ("ranges", &ranges), ("limit", &limit)],
                );
                let removed = self.ask(text).await?[0].matched;
                purged += removed;
                if removed < PURGED_AT_ONCE {
                    break;
                }
            }
        }
        Ok(purged)
    }

    pub(super) async fn requeue(
        &self,
        letters: &TopicName,
        partition: &PartitionKey,
        offsets: &[u64],
    ) -> Result<u64, Fault> {
        if offsets.is_empty() {
            return Ok(0);
        }
        self.shared
            .settled(|| async {
                let mut session = self.session().await?;
                let connection = session.connection()?;
                match self
                    .requeue_inside(connection, letters, partition, offsets)
                    .await
                {
                    Ok(moved) => {
                        session.settled();
                        Ok(moved)
                    }
                    Err(fault) => Err(session.failed(fault).await),
                }
            })
            .await
    }

    async fn requeue_inside(
        &self,
        connection: &mut MySqlConnection,
        letters: &TopicName,
        partition: &PartitionKey,
        offsets: &[u64],
    ) -> Result<u64, Fault> {
        let across = &self.sql.across;
        let mut text = Text::new();
        text.put(&across.begin, &[]);
        let found = text.put(
            &across.lock_letters,
            &[
                ("topic", &Word::from(letters)),
                ("partition", &key(partition)),
                ("offsets", &list(offsets.iter().copied())),
            ],
        );
        let answers = send(connection, text).await?;
        let mut moved = Vec::new();
        let mut back: BTreeMap<TopicName, Vec<Outgoing>> = BTreeMap::new();
        for row in &answers[found].rows {
            let letter = sql::message(row)?;
            let Some((topic, id, metadata)) = marks::requeued(&letter) else {
                continue;
            };
            moved.push(letter.offset);
            back.entry(topic).or_default().push(Outgoing {
                id,
                partition: letter.partition,
                payload: letter.payload,
                metadata,
            });
        }
        for (topic, messages) in back {
            let request = PublishRequest {
                topic,
                messages,
                delay: Duration::ZERO,
            };
            self.append(connection, &request, Transaction::Open).await?;
        }
        let mut text = Text::new();
        if !moved.is_empty() {
            self.put_removal(&mut text, letters, partition, &moved);
        }
        text.put(&across.commit, &[]);
        send(connection, text).await?;
        Ok(moved.len() as u64)
    }

    pub(super) async fn reset(&self, at: &GroupPartition, to: u64) -> Result<Option<u64>, Fault> {
        let (topic, group, partition) = (
            Word::from(&at.topic),
            Word::from(&at.group),
            key(&at.partition),
        );
        let across = &self.sql.across;
        self.shared
            .settled(|| async {
                let mut session = self.session().await?;
                let mut text = Text::new();
                text.put(&across.begin, &[]);
                // Keeps a collection from removing what is about to be read again.
                text.put(&across.gate, &[("topic", &topic)]);
                let bounds = text.put(
                    &across.bounds,
                    &[
                        ("topic", &topic),
                        ("group", &group),
                        ("partition", &partition),
                    ],
                );
                let answers = session.open(text).await?;
                let (mut own, mut is_known) = (None, false);
                for found in &answers[bounds].rows {
                    if row::get::<String>(found, "consumer_group")?.is_empty() {
                        let offsets: (u64, u64) = (
                            row::get(found, "last_offset")?,
                            row::get(found, "done_offset")?,
                        );
                        own = Some(offsets);
                    } else {
                        is_known = true;
                    }
                }
                let Some((head, tail)) = own.filter(|_| is_known) else {
                    session.roll_back().await;
                    return Ok(None);
                };
                let to = to.clamp(tail, head);
                let mut text = Text::new();
                text.put(
                    &across.reset_place,
                    &[
                        ("topic", &topic),
                        ("group", &group),
                        ("partition", &partition),
                        ("to", &to),
                    ],
                );
                text.put(&across.commit, &[]);
                session.finish(text).await?;
                Ok(Some(to))
            })
            .await
    }
}
