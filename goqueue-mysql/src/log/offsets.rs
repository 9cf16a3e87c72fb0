//! `queue_offsets`.

use std::collections::HashMap;

use async_trait::async_trait;
use goqueue_core::{
    Result,
    log::{
        GroupName, StartFrom, TopicName,
        store::{OffsetStore, PartitionOffsets, TopicInfo},
    },
};

use super::{
    Inner, MysqlLog,
    sql::{self, Word},
};
use crate::{error::Fault, row, sql::Message as Text};

#[async_trait]
impl OffsetStore for MysqlLog {
    async fn register(
        &self,
        topic: &TopicName,
        group: &GroupName,
        start_from: StartFrom,
    ) -> Result<bool> {
        let register = self.0.register(topic, group, start_from);
        self.0.call("register a group", register).await
    }

    async fn partitions(
        &self,
        topic: &TopicName,
        group: &GroupName,
    ) -> Result<Vec<PartitionOffsets>> {
        let read = self.0.partitions(topic, group);
        self.0.call("find partitions", read).await
    }

    async fn topics(&self) -> Result<Vec<TopicInfo>> {
        self.0.call("list topics", self.0.topics()).await
    }

    async fn groups(&self, topic: &TopicName) -> Result<Vec<GroupName>> {
        self.0.call("list groups", self.0.groups(topic)).await
    }
}

impl Inner {
    async fn register(
        &self,
        topic: &TopicName,
        group: &GroupName,
        start_from: StartFrom,
    ) -> Result<bool, Fault> {
        let (topic, group) = (Word::from(topic), Word::from(group));
        let offsets = &self.sql.offsets;
        let mut text = Text::new();
        let known = text.put(&offsets.is_known, &[("topic", &topic), ("group", &group)]);
        if !self.ask(text).await?[known].rows.is_empty() {
            return Ok(false);
        }
        self.shared
            .settled(|| async {
                let mut session = self.session().await?;
                let mut text = Text::new();
                text.put(&self.sql.across.begin, &[]);
                // Waits for a collection that is under way, and keeps the next one waiting.
                text.put(&self.sql.across.gate, &[("topic", &topic)]);
                let known = text.put(&offsets.is_known, &[("topic", &topic), ("group", &group)]);
                if !session.open(text).await?[known].rows.is_empty() {
                    session.roll_back().await;
                    return Ok(false);
                }
                let mut text = Text::new();
                text.put(&offsets.register, &[("topic", &topic), ("group", &group)]);
                if start_from == StartFrom::End {
                    text.put(
                        &offsets.register_at_end,
                        &[("topic", &topic), ("group", &group)],
                    );
                }
                text.put(&self.sql.across.commit, &[]);
                session.finish(text).await?;
                Ok(true)
            })
            .await
    }

    pub(super) async fn partitions(
        &self,
        topic: &TopicName,
        group: &GroupName,
    ) -> Result<Vec<PartitionOffsets>, Fault> {
        let topic = Word::from(topic);
        let mut text = Text::new();
        // The groups first: one that has read a message is never seen ahead of the head.
        text.put(
            &self.sql.offsets.group_offsets,
            &[("topic", &topic), ("group", &Word::from(group))],
        );
        text.put(&self.sql.offsets.partitions, &[("topic", &topic)]);
        let answers = self.ask(text).await?;
        let mut stands = HashMap::with_capacity(answers[0].rows.len());
        for found in &answers[0].rows {
            let key: &[u8] = row::get(found, "partition_key")?;
            let offsets: (u64, u64) = (
                row::get(found, "last_offset")?,
                row::get(found, "done_offset")?,
            );
            stands.insert(key, offsets);
        }
        let default = stands.get(&b""[..]).copied().unwrap_or_default();
        let partition = |found| {
            let key: &[u8] = row::get(found, "partition_key")?;
            let (cursor, watermark) = stands.get(key).copied().unwrap_or(default);
            let tail = row::get(found, "done_offset")?;
            Ok(PartitionOffsets {
                partition: sql::partition(found)?,
                head: row::get(found, "last_offset")?,
                tail,
                // What was collected, or given up, is behind everybody.
                cursor: cursor.max(tail),
                watermark: watermark.max(tail),
            })
        };
        answers[1].rows.iter().map(partition).collect()
    }

    async fn topics(&self) -> Result<Vec<TopicInfo>, Fault> {
        let mut text = Text::new();
        text.put(&self.sql.offsets.topics, &[]);
        let answers = self.ask(text).await?;
        let topic = |found| {
            Ok(TopicInfo {
                topic: TopicName::from_stored(row::get::<String>(found, "topic")?),
                partitions: row::get(found, "partitions")?,
                span: row::get(found, "span")?,
                groups: row::get(found, "consumer_groups")?,
            })
        };
        answers[0].rows.iter().map(topic).collect()
    }

    pub(super) async fn groups(&self, topic: &TopicName) -> Result<Vec<GroupName>, Fault> {
        let mut text = Text::new();
        text.put(&self.sql.offsets.groups, &[("topic", &Word::from(topic))]);
        self.ask(text).await?[0]
            .rows
            .iter()
            .map(sql::group)
            .collect()
    }
}
