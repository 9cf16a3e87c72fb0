//! What every call of a driver works with.

use std::{
    collections::HashSet,
    future::Future,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use goqueue_core::{
    Error, QueueName, Result,
    driver::{Capabilities, Waiters},
    retry::TransientBackoff,
};
use tokio::time::{sleep, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    config::MysqlConfig, connections::Connections, driver::NAME, error::Fault, floors::Floors,
    sql::Statements,
};

/// How often a call that lost against others is made again before its caller hears of it.
const MOST_TRIES: usize = 10;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) capabilities: Capabilities,
    pub(crate) settings: MysqlConfig,
    /// How long dead letters are kept.
    pub(crate) retention: Duration,
    pub(crate) connections: Connections,
    pub(crate) sql: Statements,
    pub(crate) waiters: Waiters,
    pub(crate) floors: Floors,
    /// Ends the waits of a driver that is closed.
    pub(crate) closing: CancellationToken,
    pub(crate) in_flight: TaskTracker,
    known_queues: Mutex<HashSet<QueueName>>,
    /// Queues with jobs that were stored in a transaction of the program's own. When it commits is
    /// not known here.
    committed_elsewhere: Mutex<HashSet<QueueName>>,
}

impl Shared {
    pub(crate) fn new(
        capabilities: Capabilities,
        settings: MysqlConfig,
        retention: Duration,
        connections: Connections,
    ) -> Self {
        let sql = Statements::new(&settings.prefix);
        Self {
            capabilities,
            settings,
            retention,
            connections,
            sql,
            waiters: Waiters::new(),
            floors: Floors::default(),
            closing: CancellationToken::new(),
            in_flight: TaskTracker::new(),
            known_queues: Mutex::default(),
            committed_elsewhere: Mutex::default(),
        }
    }

    /// Makes a call, unless the driver is closed.
    pub(crate) async fn call<T>(
        &self,
        operation: &'static str,
        call: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T> {
        if self.closing.is_cancelled() {
            return Err(Error::Closed { driver: NAME });
        }
        let _in_flight = self.in_flight.token();
        call.await.map_err(|fault| fault.during(operation))
    }

    /// The answer, or a fault when the server is silent for too long. The connection is lost then.
    pub(crate) async fn answered<T>(
        &self,
        call: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let longest = self.settings.answer_timeout;
        timeout(longest, call)
            .await
            .unwrap_or(Err(Fault::Silent(longest)))
    }

    /// Repeats a transaction that the server undid because of others.
    pub(crate) async fn settled<T, F>(&self, mut transaction: impl FnMut() -> F) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let mut backoff = TransientBackoff::new();
        for _ in 1..MOST_TRIES {
            match self.answered(transaction()).await {
                Err(fault) if fault.is_contention() => sleep(backoff.next_pause()).await,
                answer => return answer,
            }
        }
        self.answered(transaction()).await
    }

    /// Those of `queues` that are not known to be in the table of queues.
    pub(crate) fn unknown_queues<'a>(
        &self,
        queues: impl IntoIterator<Item = &'a QueueName>,
    ) -> Vec<&'a QueueName> {
        let known = self
            .known_queues
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut unknown: Vec<_> = queues.into_iter().filter(|q| !known.contains(*q)).collect();
        unknown.sort_unstable();
        unknown.dedup();
        unknown
    }

    /// Whether jobs of this queue become visible without a word to those who wait for them.
    pub(crate) fn has_commits_elsewhere(&self, queue: &QueueName) -> bool {
        self.committed_elsewhere().contains(queue)
    }

    pub(crate) fn commits_elsewhere(&self, queue: &QueueName) {
        let mut queues = self.committed_elsewhere();
        if !queues.contains(queue) {
            queues.insert(queue.clone());
        }
    }

    fn committed_elsewhere(&self) -> MutexGuard<'_, HashSet<QueueName>> {
        self.committed_elsewhere
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn know_queues(&self, queues: impl IntoIterator<Item = QueueName>) {
        let mut known = self
            .known_queues
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        known.extend(queues);
    }
}
