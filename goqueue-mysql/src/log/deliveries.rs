//! `queue_delivery_state`.

use std::{
    collections::{BTreeSet, HashSet},
    time::Duration,
};

use async_trait::async_trait;
use goqueue_core::{
    Result,
    log::{
        GroupName, PartitionKey, TopicName,
        store::{DeliveryState, DeliveryStateStore, GroupPartition, OpenMessage, Settled},
    },
};
use sqlx::mysql::MySqlRow;

use super::{
    Inner, MysqlLog,
    sql::{self, Word, key, keys, open_messages},
};
use crate::{clock, error::Fault, row, sql::Message as Text};

/// The kind of an open message that holds its partition.
const POSTPONED: u8 = 2;

#[async_trait]
impl DeliveryStateStore for MysqlLog {
    async fn extend(
        &self,
        topic: &TopicName,
        group: &GroupName,
        deliveries: &[OpenMessage],
        by: Duration,
    ) -> Result<Vec<Settled>> {
        let extend = self.0.extend(topic, group, deliveries, by);
        self.0.call("extend", extend).await
    }

    async fn of_message(
        &self,
        topic: &TopicName,
        partition: &PartitionKey,
        offset: u64,
    ) -> Result<Vec<(GroupName, DeliveryState)>> {
        let mut text = Text::new();
        text.put(
            &self.0.sql.deliveries.of_message,
            &[
                ("topic", &Word::from(topic)),
                ("partition", &key(partition)),
                ("offset", &offset),
            ],
        );
        let read = async {
            let answers = self.0.ask(text).await?;
            let known = |row| Ok((sql::group(row)?, state(row)?));
            answers[0].rows.iter().map(known).collect()
        };
        self.0.call("read deliveries", read).await
    }

    async fn open(&self, at: &GroupPartition, limit: usize) -> Result<Vec<DeliveryState>> {
        let mut text = Text::new();
        text.put(
            &self.0.sql.deliveries.open,
            &[
                ("topic", &Word::from(&at.topic)),
                ("partition", &key(&at.partition)),
                ("group", &Word::from(&at.group)),
                ("limit", &limit),
            ],
        );
        let read = async { self.0.ask(text).await?[0].rows.iter().map(state).collect() };
        self.0.call("read deliveries", read).await
    }
}

impl Inner {
    async fn extend(
        &self,
        topic: &TopicName,
        group: &GroupName,
        open: &[OpenMessage],
        by: Duration,
    ) -> Result<Vec<Settled>, Fault> {
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let (topic, group, deliveries) =
            (Word::from(topic), Word::from(group), open_messages(open));
        let mut text = Text::new();
        text.put(&self.sql.across.begin, &[]);
        // A fetch that has seen a message visible must not take it after it was extended.
        let partitions: BTreeSet<_> = open.iter().map(|open| &open.partition).collect();
        text.put(
            &self.sql.across.lock_places,
            &[
                ("topic", &topic),
                ("group", &group),
                ("partitions", &keys(partitions)),
            ],
        );
        let found = text.put(
            &self.sql.deliveries.under_receipt,
            &[
                ("topic", &topic),
                ("group", &group),
                ("deliveries", &deliveries),
            ],
        );
        text.put(
            &self.sql.deliveries.extend,
            &[
                ("topic", &topic),
                ("group", &group),
                ("deliveries", &deliveries),
                ("by", &clock::delay(by)),
            ],
        );
        text.put(&self.sql.across.commit, &[]);
        let answers = self.ask(text).await?;
        let mut held = HashSet::new();
        for row in &answers[found].rows {
            let place = (sql::partition(row)?, row::get::<u64>(row, "offset")?);
            held.insert((place, row::get::<u64>(row, "receipt")?));
        }
        let outcome = |open: &OpenMessage| {
            let place = (open.partition.clone(), open.offset);
            if held.contains(&(place, open.receipt.0)) {
                Settled::Done
            } else {
                Settled::Lost
            }
        };
        Ok(open.iter().map(outcome).collect())
    }
}

fn state(row: &MySqlRow) -> Result<DeliveryState, Fault> {
    let invisible: i64 = row::get(row, "invisible")?;
    Ok(DeliveryState {
        offset: row::get(row, "offset")?,
        attempt: row::get(row, "attempt")?,
        invisible_for: clock::duration(invisible),
        is_holding: row::get::<u8>(row, "kind")? == POSTPONED,
        last_error: row::get(row, "last_error")?,
    })
}
