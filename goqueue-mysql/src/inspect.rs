//! The administrative calls.

mod jobs;
mod letters;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use goqueue_core::{
    JobId, QueueName, Result,
    driver::{
        DeadLetterInfo, Inspect, JobInfo, JobState, Page, PageRequest, QueueStats, Selection,
    },
};
use sqlx::mysql::MySqlRow;

use crate::{connections::Answer, error::Fault, row, shared::Shared, sql::Message};

/// How many jobs or letters one transaction removes or moves.
const CHUNK: usize = 500;
/// The most items of a page.
const MAX_PAGE: usize = 1_000;

#[derive(Clone)]
pub(crate) struct MysqlInspect(Arc<Shared>);

impl MysqlInspect {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }
}

impl fmt::Debug for MysqlInspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MysqlInspect").finish_non_exhaustive()
    }
}

#[async_trait]
impl Inspect for MysqlInspect {
    async fn queues(&self) -> Result<Vec<QueueName>> {
        self.0.call("list the queues", self.0.queues()).await
    }

    async fn stats(&self, queue: &QueueName) -> Result<QueueStats> {
        self.0.call("count jobs", self.0.stats(queue)).await
    }

    async fn peek(
        &self,
        queue: &QueueName,
        state: JobState,
        page: PageRequest,
    ) -> Result<Page<JobInfo>> {
        self.0
            .call("list jobs", self.0.peek(queue, state, &page))
            .await
    }

    async fn dead_letters(
        &self,
        queue: &QueueName,
        page: PageRequest,
    ) -> Result<Page<DeadLetterInfo>> {
        self.0
            .call("list dead letters", self.0.letters(queue, &page))
            .await
    }

    async fn dead_letter(&self, queue: &QueueName, id: JobId) -> Result<Option<DeadLetterInfo>> {
        self.0
            .call("read a dead letter", self.0.letter(queue, id))
            .await
    }

    async fn requeue_dead(&self, queue: &QueueName, which: Selection) -> Result<u64> {
        self.0
            .call("requeue dead letters", self.0.requeue(queue, &which))
            .await
    }

    async fn delete_dead(&self, queue: &QueueName, which: Selection) -> Result<u64> {
        self.0
            .call("delete dead letters", self.0.delete_letters(queue, &which))
            .await
    }

    async fn purge(&self, queue: &QueueName) -> Result<u64> {
        self.0.call("purge", self.0.purge(queue)).await
    }
}

impl Shared {
    async fn ask(&self, question: impl Fn() -> Message) -> Result<Vec<Answer>, Fault> {
        self.settled(|| async {
            let mut session = self.connections.session(Duration::ZERO).await?;
            session.finish(question()).await
        })
        .await
    }

    async fn queues(&self) -> Result<Vec<QueueName>, Fault> {
        let answers = self
            .ask(|| {
                let mut message = Message::new();
                message.put(&self.sql.queues, &[]);
                message
            })
            .await?;
        // What somebody else's program has put there under a name that is none is left out.
        let rows = answers.iter().flat_map(|answer| &answer.rows);
        Ok(rows.filter_map(|row| row::queue(row).ok()).collect())
    }
}

fn body(row: &MySqlRow) -> Result<Bytes, Fault> {
    let body: &[u8] = row::get(row, "body")?;
    Ok(Bytes::copy_from_slice(body))
}
