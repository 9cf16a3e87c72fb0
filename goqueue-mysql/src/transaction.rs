//! Enqueueing inside the caller's own transaction.

use std::{
    future::IntoFuture,
    time::{Duration, SystemTime},
};

use futures_util::future::BoxFuture;
use goqueue_core::{
    Enqueued, Error, Job, Queue, Result, RetryPolicy,
    driver::{NewJob, PushOutcome},
    queue::Enqueue,
};
use sqlx::{MySql, MySqlConnection, Transaction};

use crate::{
    MysqlDriver,
    connections::send,
    driver::NAME,
    error::Fault,
    push,
    shared::Shared,
    unique::{self, Queueing},
};

/// Enqueues inside the caller's own transaction, on a [`Queue`] of this driver.
///
/// The job is stored when, and only when, the transaction commits: there is no job about an order
/// that was rolled back, and no order without its job. No worker sees it before.
///
/// ```no_run
/// # use goqueue_core::{Job, Queue};
/// # use goqueue_mysql::sqlx;
/// use goqueue_mysql::EnqueueIn;
///
/// # async fn example(pool: sqlx::MySqlPool, queue: Queue, job: impl Job)
/// # -> Result<(), Box<dyn std::error::Error>> {
/// let mut tx = pool.begin().await?;
/// sqlx::query("INSERT INTO orders (id) VALUES (?)").bind(7).execute(&mut *tx).await?;
/// queue.enqueue_in(&mut tx, job).await?;
/// tx.commit().await?;
/// # Ok(()) }
/// ```
pub trait EnqueueIn {
    /// Stores a job in `tx`, which has to be on the database that the queue is on. Set what
    /// [`Queue::enqueue`] lets you set, then await it.
    ///
    /// # Errors
    /// Awaiting answers as [`Queue::enqueue`] does, and with
    /// [`Error::Unsupported`] when the queue is not on MySQL, or when another driver is wrapped
    /// around the [`MysqlDriver`], which would not see the job. After an error of the server the
    /// transaction should be rolled back; when [`Error::is_transient`] says so the whole of it may
    /// be tried again. A job whose unique key another open transaction has just taken waits until
    /// that one ends.
    #[must_use = "a job is enqueued when this is awaited"]
    fn enqueue_in<'a, J: Job>(
        &'a self,
        tx: &'a mut Transaction<'_, MySql>,
        job: J,
    ) -> EnqueueInTransaction<'a>;
}

impl EnqueueIn for Queue {
    fn enqueue_in<'a, J: Job>(
        &'a self,
        tx: &'a mut Transaction<'_, MySql>,
        job: J,
    ) -> EnqueueInTransaction<'a> {
        EnqueueInTransaction {
            queue: self,
            connection: tx,
            enqueue: self.enqueue(job),
        }
    }
}

/// A job about to be stored in a transaction; awaiting it stores it.
#[must_use = "a job is enqueued when this is awaited"]
#[derive(Debug)]
pub struct EnqueueInTransaction<'a> {
    queue: &'a Queue,
    connection: &'a mut MySqlConnection,
    enqueue: Enqueue,
}

impl EnqueueInTransaction<'_> {
    fn map(mut self, set: impl FnOnce(Enqueue) -> Enqueue) -> Self {
        self.enqueue = set(self.enqueue);
        self
    }

    /// The queue to store to, instead of the job type's own.
    pub fn queue(self, name: impl Into<String>) -> Self {
        self.map(|enqueue| enqueue.queue(name))
    }

    /// Not before this long from now, by the server's clock.
    pub fn delay(self, delay: Duration) -> Self {
        self.map(|enqueue| enqueue.delay(delay))
    }

    /// Not before this time, which the enqueuer's clock turns into a delay.
    pub fn at(self, time: impl Into<SystemTime>) -> Self {
        self.map(|enqueue| enqueue.at(time))
    }

    /// Stores nothing while a job of the queue with this key waits or runs.
    pub fn unique_key(self, key: impl Into<String>) -> Self {
        self.map(|enqueue| enqueue.unique_key(key))
    }

    /// Keeps the unique key taken for this long from now, even after the job is done.
    pub fn unique_for(self, hold: Duration) -> Self {
        self.map(|enqueue| enqueue.unique_for(hold))
    }

    /// Jobs of the queue with this key run one at a time. Their order is that of the pushes; one
    /// whose transaction commits late may come after one that was pushed later.
    pub fn ordering_key(self, key: impl Into<String>) -> Self {
        self.map(|enqueue| enqueue.ordering_key(key))
    }

    /// How many times the job may run in all, the first included.
    pub fn max_attempts(self, attempts: u32) -> Self {
        self.map(|enqueue| enqueue.max_attempts(attempts))
    }

    /// How long one run may take.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.map(|enqueue| enqueue.timeout(timeout))
    }

    /// Text to travel beside the payload.
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.map(|enqueue| enqueue.header(name, value))
    }

    /// The retry schedule.
    pub fn retry(self, policy: RetryPolicy) -> Self {
        self.map(|enqueue| enqueue.retry(policy))
    }

    async fn run(self) -> Result<Enqueued> {
        let Self {
            queue,
            connection,
            enqueue,
        } = self;
        let Some(driver) = queue.driver().downcast_ref::<MysqlDriver>() else {
            return Err(refusal(queue.capabilities().driver));
        };
        let shared = driver.shared();
        let job = enqueue.into_new_job()?;
        let id = job.id;
        match shared
            .call("enqueue in a transaction", shared.store_in(connection, job))
            .await?
        {
            PushOutcome::Stored => Ok(Enqueued::Stored(id)),
            PushOutcome::Duplicate(existing) => Ok(Enqueued::Duplicate(existing)),
            PushOutcome::Refused(error) => Err(error),
        }
    }
}

fn refusal(driver: &'static str) -> Error {
    let capability = if driver == NAME {
        "enqueue_in through what is wrapped around it (make a queue on the `MysqlDriver` itself)"
    } else {
        "enqueue_in"
    };
    Error::Unsupported { driver, capability }
}

impl<'a> IntoFuture for EnqueueInTransaction<'a> {
    type Output = Result<Enqueued>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl Shared {
    async fn store_in(
        &self,
        connection: &mut MySqlConnection,
        job: NewJob,
    ) -> Result<PushOutcome, Fault> {
        if let Some(error) = self.refusal(&job) {
            return Ok(PushOutcome::Refused(error));
        }
        self.commits_elsewhere(&job.queue);
        let jobs = [job];
        if let Some(outcome) = self.is_taken(&jobs).await? {
            return Ok(outcome);
        }
        let stored = self
            .answered(push::store(connection, &self.sql, &jobs, Queueing::One))
            .await?;
        stored
            .into_iter()
            .next()
            .ok_or_else(|| Fault::Unusable("no outcome".into()))
    }

    /// Asks on another connection whether the unique key is taken by a job that is committed. The
    /// caller's transaction would have to lock the key to be sure, and would then hold up the end
    /// of that job until it commits itself.
    async fn is_taken(&self, jobs: &[NewJob; 1]) -> Result<Option<PushOutcome>, Fault> {
        let Some(question) = unique::look_up(&self.sql, jobs) else {
            return Ok(None);
        };
        let Some(mut session) = self.connections.spare_session().await else {
            return Ok(None);
        };
        let asking = async {
            let answers = send(session.connection()?, question).await?;
            session.settled();
            let rows = answers
                .first()
                .map(|answer| &answer.rows[..])
                .unwrap_or_default();
            unique::holders(rows)
        };
        let holders = self.answered(asking).await?;
        Ok(holders.into_values().next().map(PushOutcome::Duplicate))
    }
}
