//! Ending deliveries.
//!
//! The row of an open message says which delivery was its last; an end under another receipt changes
//! nothing. What the group acks is removed, so the first row that is left says up to where
//! everything is acked.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fmt::{Display, Write},
    time::Duration,
};

use goqueue_core::log::{
    GroupName, Message, Outgoing, PartitionKey, TopicName, marks,
    store::{Dead, PublishRequest, Receipt, Settled, Settlement, Verdict},
};
use sqlx::MySqlConnection;

use super::{
    Inner,
    publish::Transaction,
    sql::{self, Word, key, keys},
};
use crate::{
    clock,
    connections::{Answer, send},
    error::Fault,
    row,
    settle::shortened,
    sql::{Hex, Message as Text, joined, list},
};

type Place<'a> = (&'a PartitionKey, u64);

impl Inner {
    pub(super) async fn settle(
        &self,
        topic: &TopicName,
        group: &GroupName,
        settlements: &[Settlement],
    ) -> Result<Vec<Settled>, Fault> {
        if settlements.is_empty() {
            return Ok(Vec::new());
        }
        let ends = Ends {
            topic,
            group,
            settlements,
        };
        let is_plain = |end: &Settlement| end.verdict == Verdict::Ack;
        let found = if settlements.iter().all(is_plain) {
            self.ack(&ends).await?
        } else {
            self.shared.settled(|| self.settle_once(&ends)).await?
        };
        Ok(ends.outcomes(&found))
    }

    /// Acks alone are one round trip.
    async fn ack(&self, ends: &Ends<'_>) -> Result<Open, Fault> {
        let mut text = Text::new();
        let found = self.put_search(&mut text, ends);
        let (topic, group) = (Word::from(ends.topic), Word::from(ends.group));
        let deliveries = ends.deliveries(|_| true);
        let across = &self.sql.across;
        text.put(
            &across.ack,
            &[
                ("topic", &topic),
                ("group", &group),
                ("deliveries", &deliveries),
            ],
        );
        self.put_watermarks(&mut text, ends);
        Open::read(&self.ask(text).await?[found])
    }

    /// Locks the places of the group and finds the deliveries that still count.
    fn put_search(&self, text: &mut Text, ends: &Ends<'_>) -> usize {
        let across = &self.sql.across;
        let (topic, group) = (Word::from(ends.topic), Word::from(ends.group));
        let partitions = keys(ends.partitions());
        let deliveries = ends.deliveries(|_| true);
        text.put(&across.begin, &[]);
        text.put(
            &across.lock_places,
            &[
                ("topic", &topic),
                ("group", &group),
                ("partitions", &partitions),
            ],
        );
        text.put(
            &across.deliveries,
            &[
                ("topic", &topic),
                ("group", &group),
                ("deliveries", &deliveries),
            ],
        )
    }

    fn put_watermarks(&self, text: &mut Text, ends: &Ends<'_>) {
        let across = &self.sql.across;
        text.put(
            &across.move_watermarks,
            &[
                ("topic", &Word::from(ends.topic)),
                ("group", &Word::from(ends.group)),
                ("partitions", &keys(ends.partitions())),
            ],
        );
        text.put(&across.commit, &[]);
    }

    async fn settle_once(&self, ends: &Ends<'_>) -> Result<Open, Fault> {
        let mut session = self.session().await?;
        let mut text = Text::new();
        let place = self.put_search(&mut text, ends);
        let answers = session.open(text).await?;
        let open = Open::read(&answers[place])?;
        let connection = session.connection()?;
        let work = async {
            self.bury(connection, ends, &open).await?;
            let mut text = Text::new();
            self.put_changes(&mut text, ends, &open);
            self.put_watermarks(&mut text, ends);
            send(connection, text).await?;
            Ok(())
        };
        match work.await {
            Ok(()) => {
                session.settled();
                Ok(open)
            }
            Err(fault) => Err(session.failed(fault).await),
        }
    }

    /// What becomes of the rows of open messages.
    fn put_changes(&self, text: &mut Text, ends: &Ends<'_>, open: &Open) {
        let across = &self.sql.across;
        let (topic, group) = (Word::from(ends.topic), Word::from(ends.group));
        let deliveries =
            ends.deliveries(|end| matches!(end.verdict, Verdict::Ack | Verdict::Dead(_)));
        if !deliveries.is_empty() {
            text.put(
                &across.ack,
                &[
                    ("topic", &topic),
                    ("group", &group),
                    ("deliveries", &deliveries),
                ],
            );
        }
        let back = ends.first_of_each().filter_map(|end| {
            let attempt = open.attempt(end)?;
            Some((end, Back::of(&end.verdict, attempt)?))
        });
        let verdicts = joined(back, " UNION ALL ", |text, (end, back)| {
            let names = if text.is_empty() {
                [
                    "partition_key",
                    "position",
                    "kind",
                    "attempt",
                    "delay",
                    "error",
                ]
                .map(|name| format!(" AS {name}"))
            } else {
                Default::default()
            };
            let error: &dyn Display = match &back.error {
                Some(error) => &Hex(error.as_bytes()),
                None => &"NULL",
            };
            write!(
                text,
                "SELECT {}{}, {}{}, {}{}, {}{}, {}{}, {error}{}",
                key(&end.partition),
                names[0],
                end.offset,
                names[1],
                back.kind,
                names[2],
                back.attempt,
                names[3],
                back.delay,
                names[4],
                names[5],
            )
        });
        if !verdicts.is_empty() {
            text.put(
                &across.give_back,
                &[
                    ("topic", &topic),
                    ("group", &group),
                    ("verdicts", &verdicts),
                ],
            );
        }
    }

    /// Copies the messages that are given up to their dead letters.
    async fn bury(
        &self,
        connection: &mut MySqlConnection,
        ends: &Ends<'_>,
        open: &Open,
    ) -> Result<(), Fault> {
        let mut dead: BTreeMap<Place<'_>, &Dead> = BTreeMap::new();
        for end in ends.first_of_each() {
            if let (Verdict::Dead(verdict), Some(_)) = (&end.verdict, open.attempt(end)) {
                dead.insert((&end.partition, end.offset), verdict);
            }
        }
        if dead.is_empty() {
            return Ok(());
        }
        let (messages, now) = self.read(connection, ends.topic, &dead).await?;
        let mut letters: BTreeMap<&TopicName, Vec<Outgoing>> = BTreeMap::new();
        for message in messages {
            let Some(Dead {
                topic,
                attempts,
                error,
            }) = dead.get(&(&message.partition, message.offset)).copied()
            else {
                continue;
            };
            let error = shortened(error);
            let (id, metadata) =
                marks::dead_letter(&message, ends.topic, ends.group, *attempts, error, now);
            letters.entry(topic).or_default().push(Outgoing {
                id,
                partition: message.partition,
                payload: message.payload,
                metadata,
            });
        }
        for (topic, messages) in letters {
            let request = PublishRequest {
                topic: topic.clone(),
                messages,
                delay: Duration::ZERO,
            };
            self.append(connection, &request, Transaction::Open).await?;
        }
        Ok(())
    }

    /// Some messages, and the time.
    async fn read(
        &self,
        connection: &mut MySqlConnection,
        topic: &TopicName,
        dead: &BTreeMap<Place<'_>, &Dead>,
    ) -> Result<(Vec<Message>, u64), Fault> {
        let mut offsets: BTreeMap<&PartitionKey, Vec<u64>> = BTreeMap::new();
        for (partition, offset) in dead.keys() {
            offsets.entry(partition).or_default().push(*offset);
        }
        let places = joined(offsets, " OR ", |text, (partition, offsets)| {
            let (key, offsets) = (key(partition), list(offsets));
            write!(text, "(partition_key = {key} AND `offset` IN ({offsets}))")
        });
        let mut text = Text::new();
        text.put(
            &self.sql.across.read,
            &[("topic", &Word::from(topic)), ("places", &places)],
        );
        let answers = send(connection, text).await?;
        let rows = &answers[0].rows;
        let messages = rows.iter().map(sql::message).collect::<Result<_, _>>()?;
        let now = rows.first().map_or(Ok(0), |row| row::get(row, "now_ms"))?;
        Ok((messages, now))
    }
}

/// The ends of one group's deliveries.
struct Ends<'a> {
    topic: &'a TopicName,
    group: &'a GroupName,
    settlements: &'a [Settlement],
}

impl<'a> Ends<'a> {
    fn partitions(&self) -> BTreeSet<&'a PartitionKey> {
        self.settlements.iter().map(|end| &end.partition).collect()
    }

    /// Only the first end of a delivery can count.
    fn first_of_each(&self) -> impl Iterator<Item = &'a Settlement> {
        let mut seen = HashSet::new();
        self.settlements
            .iter()
            .filter(move |end| seen.insert((&end.partition, end.offset, end.receipt)))
    }

    fn deliveries(&self, which: impl Fn(&Settlement) -> bool) -> String {
        let ends = self.first_of_each().filter(|end| which(end));
        sql::deliveries(ends.map(|end| (&end.partition, end.offset, end.receipt)))
    }

    fn outcomes(&self, open: &Open) -> Vec<Settled> {
        let mut seen = HashSet::new();
        self.settlements
            .iter()
            .map(|end| {
                let is_first = seen.insert((&end.partition, end.offset, end.receipt));
                if is_first && open.attempt(end).is_some() {
                    Settled::Done
                } else {
                    Settled::Lost
                }
            })
            .collect()
    }
}

/// The deliveries that still count, with their attempts.
struct Open(HashMap<(PartitionKey, u64), (Receipt, u32)>);

impl Open {
    fn read(answer: &Answer) -> Result<Self, Fault> {
        let mut open = HashMap::with_capacity(answer.rows.len());
        for row in &answer.rows {
            let place = (sql::partition(row)?, row::get(row, "offset")?);
            let receipt = Receipt(row::get(row, "receipt")?);
            open.insert(place, (receipt, row::get(row, "attempt")?));
        }
        Ok(Self(open))
    }

    /// The attempt of a delivery; `None` when it does not count any more.
    fn attempt(&self, end: &Settlement) -> Option<u32> {
        let (receipt, attempt) = self.0.get(&(end.partition.clone(), end.offset))?;
        (*receipt == end.receipt).then_some(*attempt)
    }
}

/// How an open message waits for its next delivery.
struct Back<'a> {
    kind: u8,
    attempt: u32,
    /// In milliseconds; 0 is at once.
    delay: i64,
    error: Option<&'a str>,
}

impl<'a> Back<'a> {
    fn of(verdict: &'a Verdict, attempt: u32) -> Option<Self> {
        let refunded = attempt.saturating_sub(1);
        Some(match verdict {
            Verdict::Ack | Verdict::Dead(_) => return None,
            Verdict::Retry { delay, error } => Self {
                kind: 1,
                attempt,
                delay: clock::delay(*delay),
                error: error.as_deref().map(shortened),
            },
            Verdict::Postpone { delay } => Self {
                kind: 2,
                attempt: refunded,
                delay: clock::delay(*delay),
                error: None,
            },
            Verdict::Release => Self {
                kind: u8::from(refunded > 0),
                attempt: refunded,
                delay: 0,
                error: None,
            },
        })
    }
}
