//! The names of all queues, kept in one set.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use goqueue_core::{QueueName, Result};
use redis::Cmd;
use tokio::time::Instant;

use crate::{
    connection::{Connection, Failed},
    error::Operation,
    reply::Reply,
};

/// How long a name counts as written down. It is written again then, in case the set was emptied.
const FRESH: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Registry {
    key: String,
    known: Mutex<HashMap<QueueName, Instant>>,
}

impl Registry {
    pub(crate) fn new(key: String) -> Self {
        Self {
            key,
            known: Mutex::default(),
        }
    }

    /// Writes a queue's name down, unless that was done lately.
    pub(crate) async fn add(
        &self,
        connection: &Connection,
        queue: &QueueName,
        operation: Operation,
    ) -> Result<(), Failed> {
        let now = Instant::now();
        let known = self
            .known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(queue)
            .copied();
        if known.is_some_and(|since| now.duration_since(since) < FRESH) {
            return Ok(());
        }
        let mut cmd = Cmd::new();
        cmd.arg("SADD").arg(&self.key).arg(queue.as_str());
        connection.send(operation, &cmd).await?;
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(queue.clone(), now);
        Ok(())
    }

    /// All names, sorted. What is no queue name is left out.
    pub(crate) async fn all(&self, connection: &Connection) -> Result<Vec<QueueName>> {
        let mut cmd = Cmd::new();
        cmd.arg("SMEMBERS").arg(&self.key);
        let operation = Operation::Inspect;
        let mut list = Reply::of(connection.send(operation, &cmd).await?, operation).list()?;
        let mut names = Vec::with_capacity(list.len());
        while !list.is_empty() {
            let name = list.bytes()?;
            names.extend(
                std::str::from_utf8(&name)
                    .ok()
                    .and_then(|n| QueueName::new(n).ok()),
            );
        }
        names.sort_unstable();
        Ok(names)
    }
}
