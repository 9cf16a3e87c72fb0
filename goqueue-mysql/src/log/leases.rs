//! `queue_partition_leases`.

use std::{
    fmt::{Display, Write},
    time::Duration,
};

use async_trait::async_trait;
use goqueue_core::{
    Result,
    log::{
        GroupName, PartitionKey, SubscriberName, TopicName,
        store::{GroupPartition, LeaseInfo, LeaseRequest, PartitionLeaseStore, SubscriberId},
    },
};
use sqlx::mysql::MySqlRow;

use super::{
    Inner, MysqlLog,
    sql::{self, Word, key, keys},
};
use crate::{
    clock,
    error::Fault,
    row,
    sql::{Message as Text, joined},
};

#[async_trait]
impl PartitionLeaseStore for MysqlLog {
    async fn acquire(&self, request: &LeaseRequest) -> Result<Vec<PartitionKey>> {
        let inner = &self.0;
        inner.call("acquire leases", inner.acquire(request)).await
    }

    async fn renew(&self, request: &LeaseRequest) -> Result<Vec<PartitionKey>> {
        let inner = &self.0;
        inner.call("renew leases", inner.renew(request)).await
    }

    async fn release(
        &self,
        topic: &TopicName,
        group: &GroupName,
        subscriber: &SubscriberId,
        partitions: &[PartitionKey],
    ) -> Result<u64> {
        let inner = &self.0;
        let release = inner.release(topic, group, subscriber, partitions);
        inner.call("release leases", release).await
    }

    async fn list(
        &self,
        topic: Option<&TopicName>,
        group: Option<&GroupName>,
    ) -> Result<Vec<LeaseInfo>> {
        let mut which = "1 = 1".to_owned();
        if let Some(topic) = topic {
            which += &format!(" AND topic = {}", Word::from(topic));
        }
        if let Some(group) = group {
            which += &format!(" AND consumer_group = {}", Word::from(group));
        }
        let mut text = Text::new();
        text.put(&self.0.sql.leases.list, &[("which", &which)]);
        let list = async { self.0.ask(text).await?[0].rows.iter().map(lease).collect() };
        self.0.call("list leases", list).await
    }

    async fn evict(&self, at: &GroupPartition) -> Result<bool> {
        let mut text = Text::new();
        text.put(
            &self.0.sql.leases.evict,
            &[
                ("topic", &Word::from(&at.topic)),
                ("group", &Word::from(&at.group)),
                ("partition", &key(&at.partition)),
            ],
        );
        let evict = async { Ok(self.0.ask(text).await?[0].matched > 0) };
        self.0.call("evict a lease", evict).await
    }
}

impl Inner {
    async fn acquire(&self, request: &LeaseRequest) -> Result<Vec<PartitionKey>, Fault> {
        if request.partitions.is_empty() {
            return Ok(Vec::new());
        }
        let (topic, group) = (Word::from(&request.topic), Word::from(&request.group));
        let SubscriberId { name, instance } = &request.subscriber;
        let subscriber = Word::from(name);
        let duration = clock::millis(request.duration);
        // In one order, so that two subscribers that want the same ones do not wait for each other.
        let mut partitions: Vec<_> = request.partitions.iter().collect();
        partitions.sort_unstable();
        let rows = joined(partitions, ", ", |text, partition| {
            let key = key(partition);
            write!(
                text,
                "({topic}, {group}, {key}, {subscriber}, {instance}, {} + {duration})",
                clock::NOW
            )
        });
        let mut text = Text::new();
        text.put(&self.sql.leases.acquire, &[("rows", &rows)]);
        self.put_held(&mut text, request);
        self.held(text).await
    }

    async fn renew(&self, request: &LeaseRequest) -> Result<Vec<PartitionKey>, Fault> {
        if request.partitions.is_empty() {
            return Ok(Vec::new());
        }
        let mut text = Text::new();
        text.put(
            &self.sql.leases.renew,
            &[
                ("topic", &Word::from(&request.topic)),
                ("group", &Word::from(&request.group)),
                ("partitions", &keys(&request.partitions)),
                ("subscriber", &Word::from(&request.subscriber.name)),
                ("instance", &request.subscriber.instance),
                ("duration", &clock::millis(request.duration)),
            ],
        );
        self.put_held(&mut text, request);
        self.held(text).await
    }

    fn put_held(&self, text: &mut Text, request: &LeaseRequest) {
        text.put(
            &self.sql.leases.held,
            &[
                ("topic", &Word::from(&request.topic)),
                ("group", &Word::from(&request.group)),
                ("partitions", &keys(&request.partitions)),
                ("subscriber", &Word::from(&request.subscriber.name)),
                ("instance", &request.subscriber.instance),
            ],
        );
    }

    /// Sends a change and the question which leases are held after it.
    async fn held(&self, text: Text) -> Result<Vec<PartitionKey>, Fault> {
        let answers = self.ask(text).await?;
        answers[1].rows.iter().map(sql::partition).collect()
    }

    async fn release(
        &self,
        topic: &TopicName,
        group: &GroupName,
        subscriber: &SubscriberId,
        partitions: &[PartitionKey],
    ) -> Result<u64, Fault> {
        if partitions.is_empty() {
            return Ok(0);
        }
        let name: &dyn Display = &Word::from(&subscriber.name);
        let mut text = Text::new();
        text.put(
            &self.sql.leases.release,
            &[
                ("topic", &Word::from(topic)),
                ("group", &Word::from(group)),
                ("partitions", &keys(partitions)),
                ("subscriber", name),
                ("instance", &subscriber.instance),
            ],
        );
        Ok(self.ask(text).await?[0].matched)
    }
}

fn lease(row: &MySqlRow) -> Result<LeaseInfo, Fault> {
    let expires_in: i64 = row::get(row, "expires_in")?;
    Ok(LeaseInfo {
        at: GroupPartition {
            topic: TopicName::from_stored(row::get::<String>(row, "topic")?),
            group: sql::group(row)?,
            partition: sql::partition(row)?,
        },
        subscriber: subscriber(row)?,
        expires_in: clock::duration(expires_in),
        expired_for: if expires_in < 0 {
            Duration::from_millis(expires_in.unsigned_abs())
        } else {
            Duration::ZERO
        },
    })
}

/// The columns of a subscriber.
pub(super) fn subscriber(row: &MySqlRow) -> Result<SubscriberId, Fault> {
    Ok(SubscriberId {
        name: SubscriberName::from_stored(row::get::<String>(row, "subscriber")?),
        instance: row::get(row, "instance")?,
    })
}
