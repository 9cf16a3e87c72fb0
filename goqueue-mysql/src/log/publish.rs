//! Appending messages.
//!
//! A partition's own row is locked from the moment it gives offsets out until the commit. So offsets
//! are committed in their order, and whoever has seen one never meets a new one below it.

use std::{collections::HashMap, fmt::Write, time::Duration};

use goqueue_core::log::{Outgoing, Published, store::PublishRequest};
use sqlx::{AssertSqlSafe, MySqlConnection};

use super::{
    Inner,
    batch::{BOUND, Batch, Heads, Known, Row},
    sql::{self, Word, key, keys},
};
use crate::{
    connections::send,
    error::Fault,
    portions::portion,
    row,
    sql::{Message as Text, joined},
};

/// How long a publishing keeps trying to connect. Nothing is sent meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most messages that one prepared statement stores.
const MOST_ROWS: usize = 64;

/// Bytes of rows that are sent as text, together with the commit: reading them takes the server less
/// than another round trip would.
const SHORT: usize = 2 * 1024;

/// Whose transaction messages are stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transaction {
    /// One of the call's own, which ends with it.
    Own,
    /// One that is open already and stays so.
    Open,
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
        let heads = self.raise_heads(connection, &batch, transaction).await?;
        let rows = batch.rows(&heads, &Known::new())?;
        let none = Text::new();
        match self
            .store(connection, &batch, &rows, heads.now, none, transaction)
            .await
        {
            Ok(()) => Ok(batch.outcomes(&rows, &Known::new())),
            Err(fault) if fault.is_duplicate() => {
                self.append_unknown(connection, &batch, &heads, transaction)
                    .await
            }
            Err(fault) => Err(fault),
        }
    }

    /// Stores the messages whose ids are not there yet, when some are.
    async fn append_unknown(
        &self,
        connection: &mut MySqlConnection,
        batch: &Batch<'_>,
        heads: &Heads,
        transaction: Transaction,
    ) -> Result<Vec<Published>, Fault> {
        let known = self.known(connection, batch).await?;
        let rows = batch.rows(heads, &known)?;
        let mut first = Text::new();
        first.put(
            &self.sql.across.set_heads,
            &[("rows", &batch.heads_without(heads, &known))],
        );
        self.store(connection, batch, &rows, heads.now, first, transaction)
            .await?;
        Ok(batch.outcomes(&rows, &known))
    }

    /// Stores rows, after what is to be sent `first`, and ends the transaction if it is the call's
    /// own. Reading a long text takes the server longer than storing its rows, so a long batch is
    /// bound to prepared statements; what is left goes together with the commit.
    async fn store(
        &self,
        connection: &mut MySqlConnection,
        batch: &Batch<'_>,
        rows: &[Row<'_>],
        now: u64,
        first: Text,
        transaction: Transaction,
    ) -> Result<(), Fault> {
        let across = &self.sql.across;
        let (mut text, mut left) = (first, rows);
        while !is_short(left) {
            if !text.is_empty() {
                send(connection, std::mem::take(&mut text)).await?;
            }
            let (some, rest) = left.split_at(portion(left.iter().map(Row::size), MOST_ROWS));
            let values = joined(some, ", ", |text, _| text.write_str(BOUND));
            let insert = across.append.with(&[("rows", &values)]);
            let query = batch.bind(sqlx::query(AssertSqlSafe(insert)), some, now);
            query.execute(&mut *connection).await?;
            left = rest;
        }
        if !left.is_empty() {
            text.put(&across.append, &[("rows", &batch.text(left, now))]);
        }
        if transaction == Transaction::Own {
            text.put(&across.commit, &[]);
        }
        if !text.is_empty() {
            send(connection, text).await?;
        }
        Ok(())
    }

    /// Takes as many offsets of each partition as it may get messages.
    async fn raise_heads(
        &self,
        connection: &mut MySqlConnection,
        batch: &Batch<'_>,
        transaction: Transaction,
    ) -> Result<Heads, Fault> {
        let topic = Word::from(batch.topic);
        let rows = joined(&batch.partitions, ", ", |text, (partition, count)| {
            write!(text, "({topic}, '', {}, {count}, 0)", key(partition))
        });
        let partitions = keys(batch.partitions.iter().map(|(partition, _)| *partition));
        let across = &self.sql.across;
        let mut text = Text::new();
        if transaction == Transaction::Own {
            text.put(&across.begin, &[]);
        }
        text.put(&across.raise_heads, &[("rows", &rows)]);
        let found = text.put(
            &across.heads,
            &[("topic", &topic), ("partitions", &partitions)],
        );
        text.put(&across.mark, &[]);
        let answers = send(connection, text).await?;
        batch.heads(&answers[found])
    }

    /// Where those messages are whose ids are there already. Nobody adds any meanwhile, since the
    /// partitions are locked.
    async fn known<'a>(
        &self,
        connection: &mut MySqlConnection,
        batch: &Batch<'a>,
    ) -> Result<Known<'a>, Fault> {
        let ids = joined(batch.unique(), " OR ", |text, message| {
            let (id, key) = (sql::id(&message.id), key(&message.partition));
            write!(text, "(id = {id} AND partition_key = {key})")
        });
        let mut text = Text::new();
        // Rows that an earlier statement of the call has stored are not known from before.
        text.put(&self.sql.across.back_to_mark, &[]);
        let ids_found = text.put(
            &self.sql.across.offsets_of_ids,
            &[("topic", &Word::from(batch.topic)), ("ids", &ids)],
        );
        let answers = send(connection, text).await?;
        let mut found = HashMap::new();
        for row in &answers[ids_found].rows {
            let identity: (&[u8], &[u8]) = (row::get(row, "partition_key")?, row::get(row, "id")?);
            found.insert(identity, row::get::<u64>(row, "offset")?);
        }
        let place = |message: &'a Outgoing| {
            let (partition, id) = (&message.partition, &message.id);
            let offset = found.get(&(partition.as_str().as_bytes(), id.as_str().as_bytes()))?;
            Some(((partition, id), *offset))
        };
        Ok(batch.unique().filter_map(place).collect())
    }
}

/// Whether rows are few enough to be sent as text.
fn is_short(rows: &[Row<'_>]) -> bool {
    rows.iter().map(Row::size).sum::<usize>() <= SHORT
}
