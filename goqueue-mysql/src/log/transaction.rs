//! Publishing inside the caller's own transaction.

use std::{fmt::Write, sync::Arc, time::Duration};

use async_trait::async_trait;
use goqueue_core::{
    Error, Result,
    log::{Log, NewMessage, PartitionKey, Published, store::PublishRequest},
};
use sqlx::{MySql, Transaction as SqlTransaction};

use super::{
    Inner, LOGS,
    publish::Transaction,
    sql::{self, Word, key, keys},
};
use crate::{
    error::Fault,
    sql::{Message as Text, joined},
};

/// Publishes inside the caller's own transaction, on a [`Log`] of this driver.
///
/// The messages are there when, and only when, the transaction commits; no group sees them before.
/// Until it ends, whoever else publishes to the same partitions waits: that is what keeps a
/// partition's order, and a message that is committed late from being passed over. So keep such
/// transactions short, and publish at their end.
///
/// ```no_run
/// # use goqueue_core::log::{Log, NewMessage};
/// # use goqueue_mysql::sqlx;
/// use goqueue_mysql::log::PublishIn;
///
/// # async fn example(pool: sqlx::MySqlPool, log: Log) -> Result<(), Box<dyn std::error::Error>> {
/// let mut tx = pool.begin().await?;
/// sqlx::query("INSERT INTO orders (id) VALUES (?)").bind(7).execute(&mut *tx).await?;
/// let paid = NewMessage::new("order-7/paid", "{}", "customer-3");
/// log.publish_in(&mut tx, "orders", [paid]).await?;
/// tx.commit().await?;
/// # Ok(()) }
/// ```
#[async_trait]
pub trait PublishIn {
    /// Publishes messages in `tx`, which has to be on the database that the log is on.
    ///
    /// # Errors
    /// As for [`Log::publish`], and [`Error::Unsupported`] when the log is not on MySQL. After an
    /// error of the server the transaction should be rolled back; when [`Error::is_transient`] says
    /// so the whole of it may be tried again. Two transactions that publish to two partitions in
    /// calls of opposite order are such a case; within one call there is one order.
    async fn publish_in<M>(
        &self,
        tx: &mut SqlTransaction<'_, MySql>,
        topic: &str,
        messages: M,
    ) -> Result<Vec<Published>>
    where
        M: IntoIterator<Item = NewMessage> + Send;

    /// The same for messages that become visible after `delay`, counted from the call.
    ///
    /// # Errors
    /// As for [`publish_in`](PublishIn::publish_in).
    async fn publish_after_in<M>(
        &self,
        tx: &mut SqlTransaction<'_, MySql>,
        topic: &str,
        messages: M,
        delay: Duration,
    ) -> Result<Vec<Published>>
    where
        M: IntoIterator<Item = NewMessage> + Send;
}

#[async_trait]
impl PublishIn for Log {
    async fn publish_in<M>(
        &self,
        tx: &mut SqlTransaction<'_, MySql>,
        topic: &str,
        messages: M,
    ) -> Result<Vec<Published>>
    where
        M: IntoIterator<Item = NewMessage> + Send,
    {
        let messages: Vec<_> = messages.into_iter().collect();
        self.publish_after_in(tx, topic, messages, Duration::ZERO)
            .await
    }

    async fn publish_after_in<M>(
        &self,
        tx: &mut SqlTransaction<'_, MySql>,
        topic: &str,
        messages: M,
        delay: Duration,
    ) -> Result<Vec<Published>>
    where
        M: IntoIterator<Item = NewMessage> + Send,
    {
        let messages: Vec<_> = messages.into_iter().collect();
        let Some(log) = LOGS.find(self.capabilities()) else {
            return Err(Error::Unsupported {
                driver: self.capabilities().driver,
                capability: "publish_in",
            });
        };
        let request = self.publisher().prepare(topic, messages, delay)?;
        let publish = log.publish_inside(tx, request);
        log.call("publish in a transaction", publish).await
    }
}

impl Inner {
    async fn publish_inside(
        self: &Arc<Self>,
        tx: &mut SqlTransaction<'_, MySql>,
        request: PublishRequest,
    ) -> Result<Vec<Published>, Fault> {
        self.make_partitions(&request).await?;
        let (most, bytes) = (self.capabilities.max_messages, self.capabilities.max_bytes);
        let mut published = Vec::with_capacity(request.messages.len());
        let mut left = request.messages.into_iter().peekable();
        while left.peek().is_some() {
            let (mut batch, mut size) = (Vec::new(), 0);
            while let Some(message) = left.peek() {
                size += message.size();
                if !batch.is_empty() && (batch.len() >= most || size > bytes) {
                    break;
                }
                batch.extend(left.next());
            }
            let batch = PublishRequest {
                topic: request.topic.clone(),
                messages: batch,
                delay: request.delay,
            };
            let append = self.append(tx, &batch, Transaction::Open);
            published.extend(self.shared.answered(append).await?);
        }
        Ok(published)
    }

    /// Makes the rows of new partitions on another connection, where one is free. Made in the
    /// caller's transaction, a row that is rolled back would let everyone who waits for it go at
    /// once, each with a lock on the gap it leaves, and all but one would be undone as a deadlock.
    async fn make_partitions(&self, request: &PublishRequest) -> Result<(), Fault> {
        let mut partitions: Vec<&PartitionKey> =
            request.messages.iter().map(|m| &m.partition).collect();
        partitions.sort_unstable();
        partitions.dedup();
        let topic = Word::from(&request.topic);
        let Some(mut session) = self.shared.connections.spare_session().await else {
            return Ok(());
        };
        let across = &self.sql.across;
        let work = async {
            for partitions in partitions.chunks(self.capabilities.max_messages) {
                let all = keys(partitions.iter().copied());
                let mut text = Text::new();
                text.put(
                    &across.known_heads,
                    &[("topic", &topic), ("partitions", &all)],
                );
                let answers = session.finish(text).await?;
                let mut new = partitions.to_vec();
                for row in &answers[0].rows {
                    let known = sql::partition(row)?;
                    new.retain(|partition| **partition != known);
                }
                let rows = joined(new, ", ", |text, partition| {
                    write!(text, "({topic}, '', {}, 0, 0)", key(partition))
                });
                if !rows.is_empty() {
                    let mut text = Text::new();
                    text.put(&across.make_heads, &[("rows", &rows)]);
                    session.finish(text).await?;
                }
            }
            Ok(())
        };
        self.shared.answered(work).await
    }
}
