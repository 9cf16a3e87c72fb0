//! `queue_subscriber_heartbeats`.

use std::time::Duration;

use async_trait::async_trait;
use goqueue_core::{
    Result,
    log::{
        GroupName, TopicName,
        store::{Heartbeat, SubscriberHeartbeatStore, SubscriberId},
    },
};

use super::{MysqlLog, leases::subscriber, sql::Word};
use crate::{clock, row, sql::Message as Text};

#[async_trait]
impl SubscriberHeartbeatStore for MysqlLog {
    async fn beat(
        &self,
        topic: &TopicName,
        group: &GroupName,
        subscriber: &SubscriberId,
        valid_for: Duration,
    ) -> Result<()> {
        let mut text = Text::new();
        text.put(
            &self.0.sql.heartbeats.beat,
            &[
                ("topic", &Word::from(topic)),
                ("group", &Word::from(group)),
                ("subscriber", &Word::from(&subscriber.name)),
                ("instance", &subscriber.instance),
                ("valid", &clock::millis(valid_for)),
            ],
        );
        let beat = async { self.0.ask(text).await.map(drop) };
        self.0.call("send a heartbeat", beat).await
    }

    async fn list(&self, topic: &TopicName, group: &GroupName) -> Result<Vec<Heartbeat>> {
        let mut text = Text::new();
        text.put(
            &self.0.sql.heartbeats.list,
            &[("topic", &Word::from(topic)), ("group", &Word::from(group))],
        );
        let list = async {
            let heartbeat = |row| {
                Ok(Heartbeat {
                    subscriber: subscriber(row)?,
                    is_alive: row::get::<i64>(row, "is_alive")? > 0,
                })
            };
            self.0.ask(text).await?[0]
                .rows
                .iter()
                .map(heartbeat)
                .collect()
        };
        self.0.call("list subscribers", list).await
    }

    async fn remove(
        &self,
        topic: &TopicName,
        group: &GroupName,
        subscriber: &SubscriberId,
    ) -> Result<()> {
        let mut text = Text::new();
        text.put(
            &self.0.sql.heartbeats.remove,
            &[
                ("topic", &Word::from(topic)),
                ("group", &Word::from(group)),
                ("subscriber", &Word::from(&subscriber.name)),
                ("instance", &subscriber.instance),
            ],
        );
        let remove = async { self.0.ask(text).await.map(drop) };
        self.0.call("forget a subscriber", remove).await
    }

    async fn purge(
        &self,
        topic: &TopicName,
        group: &GroupName,
        dead_for: Duration,
    ) -> Result<Vec<SubscriberId>> {
        let dead_for = clock::millis(dead_for);
        let (topic, group) = (Word::from(topic), Word::from(group));
        let mut text = Text::new();
        text.put(&self.0.sql.across.begin, &[]);
        let found = text.put(
            &self.0.sql.heartbeats.dead,
            &[("topic", &topic), ("group", &group), ("dead", &dead_for)],
        );
        text.put(
            &self.0.sql.heartbeats.bury,
            &[("topic", &topic), ("group", &group), ("dead", &dead_for)],
        );
        text.put(&self.0.sql.across.commit, &[]);
        let purge = async {
            self.0.ask(text).await?[found]
                .rows
                .iter()
                .map(subscriber)
                .collect()
        };
        self.0.call("purge subscribers", purge).await
    }
}
