//! `queue_messages`.

use std::{fmt::Write, time::Duration};

use async_trait::async_trait;
use goqueue_core::{
    Result,
    driver::{Page, PageRequest},
    log::{
        Message, MessageId, PartitionKey, TopicName,
        store::{MessageStore, TopicSize},
    },
};

use super::{
    Inner, MysqlLog,
    sql::{self, Word, key},
};
use crate::{
    clock,
    error::Fault,
    row,
    sql::{Message as Text, joined},
};

/// How many ages one statement asks for.
const AGES_AT_ONCE: usize = 500;

#[async_trait]
impl MessageStore for MysqlLog {
    async fn list(
        &self,
        topic: &TopicName,
        partition: Option<&PartitionKey>,
        page: PageRequest,
    ) -> Result<Page<Message>> {
        let list = self.0.list_messages(topic, partition, &page);
        self.0.call("list messages", list).await
    }

    async fn find(&self, topic: &TopicName, id: &MessageId) -> Result<Vec<Message>> {
        let mut text = Text::new();
        text.put(
            &self.0.sql.messages.find,
            &[("topic", &Word::from(topic)), ("id", &sql::id(id))],
        );
        let find = async {
            let answers = self.0.ask(text).await?;
            answers[0].rows.iter().map(sql::message).collect()
        };
        self.0.call("find a message", find).await
    }

    async fn size(&self, topic: &TopicName) -> Result<TopicSize> {
        self.0.call("measure a topic", self.0.size(topic)).await
    }

    async fn ages(
        &self,
        topic: &TopicName,
        behind: &[(PartitionKey, u64)],
    ) -> Result<Vec<Option<Duration>>> {
        self.0.call("read ages", self.0.ages(topic, behind)).await
    }
}

impl Inner {
    async fn list_messages(
        &self,
        topic: &TopicName,
        partition: Option<&PartitionKey>,
        page: &PageRequest,
    ) -> Result<Page<Message>, Fault> {
        let which = partition.map_or(String::new(), |partition| {
            format!("AND partition_key = {}", key(partition))
        });
        let after = match &page.after {
            None => String::new(),
            Some(text) => after(text)?,
        };
        let mut text = Text::new();
        text.put(
            &self.sql.messages.list,
            &[
                ("topic", &Word::from(topic)),
                ("which", &which),
                ("after", &after),
                ("limit", &page.limit.saturating_add(1)),
            ],
        );
        let answers = self.ask(text).await?;
        let rows = &answers[0].rows;
        let items: Vec<Message> = rows
            .iter()
            .take(page.limit)
            .map(sql::message)
            .collect::<Result<_, _>>()?;
        let next = (rows.len() > items.len()).then(|| items.last().map(place_of));
        Ok(Page {
            next: next.flatten(),
            items,
        })
    }

    async fn size(&self, topic: &TopicName) -> Result<TopicSize, Fault> {
        let mut text = Text::new();
        text.put(&self.sql.messages.size, &[("topic", &Word::from(topic))]);
        let answers = self.ask(text).await?;
        let Some(found) = answers[0].rows.first() else {
            return Ok(TopicSize::default());
        };
        let oldest: Option<i64> = row::get(found, "oldest")?;
        Ok(TopicSize {
            messages: row::get(found, "messages")?,
            bytes: row::get(found, "bytes")?,
            delayed: row::get(found, "delayed_messages")?,
            oldest: oldest.map(clock::duration),
        })
    }

    async fn ages(
        &self,
        topic: &TopicName,
        behind: &[(PartitionKey, u64)],
    ) -> Result<Vec<Option<Duration>>, Fault> {
        let mut text = Text::new();
        for behind in behind.chunks(AGES_AT_ONCE) {
            let places = joined(
                behind.iter().enumerate(),
                " UNION ALL ",
                |text, (n, (partition, offset))| {
                    let key = key(partition);
                    write!(
                        text,
                        "SELECT {n} AS n, {key} AS partition_key, {offset} AS done"
                    )
                },
            );
            text.put(
                &self.sql.messages.ages,
                &[("topic", &Word::from(topic)), ("places", &places)],
            );
        }
        let mut ages = vec![None; behind.len()];
        if behind.is_empty() {
            return Ok(ages);
        }
        for (answer, ages) in self
            .ask(text)
            .await?
            .iter()
            .zip(ages.chunks_mut(AGES_AT_ONCE))
        {
            for found in &answer.rows {
                let age: Option<i64> = row::get(found, "age")?;
                if let Some(place) = ages.get_mut(row::get::<u32>(found, "n")? as usize) {
                    *place = age.map(clock::duration);
                }
            }
        }
        Ok(ages)
    }
}

/// Where the page behind this message begins.
fn place_of(message: &Message) -> String {
    format!("{}:{}", message.offset, message.partition)
}

fn after(text: &str) -> Result<String, Fault> {
    let place = text.split_once(':').and_then(|(offset, partition)| {
        Some((
            offset.parse::<u64>().ok()?,
            PartitionKey::new(partition).ok()?,
        ))
    });
    let Some((offset, partition)) = place else {
        return Err(Fault::Refused(goqueue_core::Error::Invalid {
            what: "page",
            given: text.into(),
            allowed: "what the page before has as its `next`",
        }));
    };
    let key = key(&partition);
    Ok(format!(
        "AND (partition_key > {key} OR (partition_key = {key} AND `offset` > {offset}))"
    ))
}
