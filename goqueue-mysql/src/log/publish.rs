//! Appending messages.
//!
//! A partition's own row is locked from the moment it gives offsets out until the commit. So offsets
//! are committed in their order, and whoever has seen one never meets a new one below it.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::Write,
    time::Duration,
};

use goqueue_core::log::{
    MessageId, Outgoing, PartitionKey, Published, TopicName, store::PublishRequest,
};
use sqlx::MySqlConnection;

use super::{
    Inner,
    sql::{self, Word, key, keys},
};
use crate::{
    clock,
    connections::{Answer, send},
    error::Fault,
    row,
    sql::{Hex, Message as Text, joined},
};

/// How long a publishing keeps trying to connect. Nothing is sent meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whose transaction messages are stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transaction {
    /// One of the call's own, which ends with it.
    Own,
    /// One that is open already and stays so.
    Open,
}

/// A message by what makes it the same as another.
type Identity<'a> = (&'a PartitionKey, &'a MessageId);
/// Offsets of messages.
type Places<'a> = HashMap<Identity<'a>, u64>;

fn identity_of(message: &Outgoing) -> Identity<'_> {
    (&message.partition, &message.id)
}

impl Inner {
    pub(super) async fn publish(&self, request: &PublishRequest) -> Result<Vec<Published>, Fault> {
        self.shared
            .settled(|| async {
                let mut session = self.shared.connections.session(PATIENCE).await?;
                let connection = session.connection()?;
                match self.append(connection, request, Transaction::Own).await {
                    Ok(published) => {
                        session.settled();
                        Ok(published)
                    }
                    Err(fault) => Err(session.failed(fault).await),
                }
            })
            .await
    }

    /// Stores messages. After an error, the transaction is to be rolled back.
    pub(super) async fn append(
        &self,
        connection: &mut MySqlConnection,
        request: &PublishRequest,
        transaction: Transaction,
    ) -> Result<Vec<Published>, Fault> {
        if request.messages.is_empty() {
            return Ok(Vec::new());
        }
        let batch = Batch::new(request);
        let is_own = transaction == Transaction::Own;
        let heads = self.raise_heads(connection, &batch, is_own).await?;
        let places = batch.number(&heads, &HashMap::new())?;
        let across = &self.sql.across;
        let mut text = Text::new();
        text.put(
            &across.append,
            &[("rows", &batch.rows(&places, heads.now)?)],
        );
        if is_own {
            text.put(&across.commit, &[]);
        }
        match send(connection, text).await.map_err(Fault::from) {
            Ok(_) => Ok(batch.outcomes(&places, &HashMap::new())),
            Err(fault) if fault.is_duplicate() => {
                let known = self.known(connection, &batch).await?;
                let places = batch.number(&heads, &known)?;
                let mut text = Text::new();
                text.put(
                    &across.set_heads,
                    &[("rows", &batch.heads_without(&heads, &known))],
                );
                let rows = batch.rows(&places, heads.now)?;
                if !rows.is_empty() {
                    text.put(&across.append, &[("rows", &rows)]);
                }
                if is_own {
                    text.put(&across.commit, &[]);
                }
                send(connection, text).await?;
                Ok(batch.outcomes(&places, &known))
            }
            Err(fault) => Err(fault),
        }
    }

    /// Takes as many offsets of each partition as it may get messages.
    async fn raise_heads(
        &self,
        connection: &mut MySqlConnection,
        batch: &Batch<'_>,
        is_own: bool,
    ) -> Result<Heads, Fault> {
        let topic = Word::from(batch.topic);
        let rows = joined(&batch.counts, ", ", |text, (partition, count)| {
            write!(text, "({topic}, '', {}, {count}, 0)", key(partition))
        });
        let partitions = keys(batch.counts.keys().copied());
        let across = &self.sql.across;
        let mut text = Text::new();
        if is_own {
            text.put(&across.begin, &[]);
        }
        text.put(&across.raise_heads, &[("rows", &rows)]);
        let found = text.put(
            &across.heads,
            &[("topic", &topic), ("partitions", &partitions)],
        );
        let answers = send(connection, text).await?;
        Heads::read(&answers[found])
    }

    /// Where those messages are whose ids are there already. Nobody adds any meanwhile, since the
    /// partitions are locked.
    async fn known<'a>(
        &self,
        connection: &mut MySqlConnection,
        batch: &Batch<'a>,
    ) -> Result<Places<'a>, Fault> {
        let ids = joined(&batch.unique, " OR ", |text, message| {
            let (id, key) = (sql::id(&message.id), key(&message.partition));
            write!(text, "(id = {id} AND partition_key = {key})")
        });
        let mut text = Text::new();
        text.put(
            &self.sql.across.offsets_of_ids,
            &[("topic", &Word::from(batch.topic)), ("ids", &ids)],
        );
        let answers = send(connection, text).await?;
        let mut found = HashMap::new();
        for row in &answers[0].rows {
            let identity: (&[u8], &[u8]) = (row::get(row, "partition_key")?, row::get(row, "id")?);
            found.insert(identity, row::get::<u64>(row, "offset")?);
        }
        let place = |message: &&'a Outgoing| {
            let identity = (
                message.partition.as_str().as_bytes(),
                message.id.as_str().as_bytes(),
            );
            Some((identity_of(message), *found.get(&identity)?))
        };
        Ok(batch.unique.iter().filter_map(place).collect())
    }
}

/// The messages of a call, each id once.
struct Batch<'a> {
    topic: &'a TopicName,
    messages: &'a [Outgoing],
    delay: Duration,
    unique: Vec<&'a Outgoing>,
    counts: BTreeMap<&'a PartitionKey, u64>,
}

/// The last offset that each partition has given out, and the time.
struct Heads {
    last: HashMap<Vec<u8>, u64>,
    now: u64,
}

impl Heads {
    fn read(answer: &Answer) -> Result<Self, Fault> {
        let mut heads = Self {
            last: HashMap::new(),
            now: 0,
        };
        for row in &answer.rows {
            let partition: Vec<u8> = row::get(row, "partition_key")?;
            heads.last.insert(partition, row::get(row, "last_offset")?);
            heads.now = row::get(row, "now_ms")?;
        }
        Ok(heads)
    }
}

impl<'a> Batch<'a> {
    fn new(request: &'a PublishRequest) -> Self {
        let mut unique = Vec::with_capacity(request.messages.len());
        let mut counts = BTreeMap::new();
        let mut seen = HashSet::new();
        for message in &request.messages {
            if seen.insert(identity_of(message)) {
                *counts.entry(&message.partition).or_default() += 1;
                unique.push(message);
            }
        }
        Self {
            topic: &request.topic,
            messages: &request.messages,
            delay: request.delay,
            unique,
            counts,
        }
    }

    /// The offsets of the messages that are not known yet, in order.
    fn number(&self, heads: &Heads, known: &Places<'a>) -> Result<Places<'a>, Fault> {
        let mut next = HashMap::new();
        for (partition, count) in &self.counts {
            let last = heads.last.get(partition.as_str().as_bytes());
            let last = last.ok_or_else(|| Fault::Unusable("a partition gave no offset".into()))?;
            next.insert(*partition, last + 1 - count);
        }
        let mut places = HashMap::with_capacity(self.unique.len());
        for message in &self.unique {
            let identity = identity_of(message);
            if !known.contains_key(&identity) {
                let offset = next.entry(&message.partition).or_default();
                places.insert(identity, *offset);
                *offset += 1;
            }
        }
        Ok(places)
    }

    /// The rows of the messages that have an offset.
    fn rows(&self, places: &Places<'a>, now: u64) -> Result<String, Fault> {
        let topic = Word::from(self.topic);
        let delay = u64::try_from(clock::delay(self.delay)).unwrap_or_default();
        let visible_after = if delay == 0 { 0 } else { now + delay };
        let mut text = String::new();
        for message in &self.unique {
            let Some(offset) = places.get(&identity_of(message)) else {
                continue;
            };
            let separator = if text.is_empty() { "" } else { ", " };
            let (key, id) = (key(&message.partition), sql::id(&message.id));
            let metadata = sql::metadata_literal(&message.metadata)?;
            let payload = Hex(&message.payload);
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "{separator}({topic}, {key}, {offset}, {id}, {now}, {visible_after}, {metadata}, \
                 {payload})"
            );
        }
        Ok(text)
    }

    /// The heads as they are without the messages that are known.
    fn heads_without(&self, heads: &Heads, known: &Places<'a>) -> String {
        let topic = Word::from(self.topic);
        joined(&self.counts, ", ", |text, (partition, _)| {
            let key = key(partition);
            let unused = known.keys().filter(|(of, _)| of == partition).count() as u64;
            let last = heads.last.get(partition.as_str().as_bytes());
            let last = last.copied().unwrap_or_default() - unused;
            write!(text, "({topic}, '', {key}, {last}, 0)")
        })
    }

    /// A message whose id an earlier one of the batch has is that one's duplicate.
    fn outcomes(&self, places: &Places<'a>, known: &Places<'a>) -> Vec<Published> {
        let mut told = HashSet::new();
        let outcome = |message| {
            let identity = identity_of(message);
            let offset = known.get(&identity).or_else(|| places.get(&identity));
            let offset = offset.copied().unwrap_or_default();
            if told.insert(identity) && !known.contains_key(&identity) {
                Published::Stored { offset }
            } else {
                Published::Duplicate { offset }
            }
        };
        self.messages.iter().map(outcome).collect()
    }
}
