use std::{fmt, str::FromStr, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;

use crate::{
    dead_letter::DeadReason,
    error::{Error, Result},
    job::{JobId, QueueName},
};

/// The administrative calls: look into queues and steer dead letters.
///
/// Listing is paged and never holds the backend up. Repeating a steering call changes nothing more.
#[async_trait]
pub trait Inspect: Send + Sync {
    /// Every queue that has held a job, by name.
    ///
    /// # Errors
    /// When the backend could not be asked; the same for every method here.
    async fn queues(&self) -> Result<Vec<QueueName>>;

    /// How many jobs a queue holds in each state.
    async fn stats(&self, queue: &QueueName) -> Result<QueueStats>;

    /// Jobs of one state, in the order they will run (running ones: in the order their leases end).
    async fn peek(
        &self,
        queue: &QueueName,
        state: JobState,
        page: PageRequest,
    ) -> Result<Page<JobInfo>>;

    /// Dead letters, the oldest job first.
    async fn dead_letters(
        &self,
        queue: &QueueName,
        page: PageRequest,
    ) -> Result<Page<DeadLetterInfo>>;

    /// One dead letter.
    async fn dead_letter(&self, queue: &QueueName, id: JobId) -> Result<Option<DeadLetterInfo>>;

    /// Makes dead letters ready again, with no attempt spent. One whose unique key is taken by a
    /// live job stays where it is. Answers how many were moved.
    async fn requeue_dead(&self, queue: &QueueName, which: Selection) -> Result<u64>;

    /// Removes dead letters for good. Answers how many.
    async fn delete_dead(&self, queue: &QueueName, which: Selection) -> Result<u64>;

    /// Removes every job that is not running, and frees its keys. Dead letters stay. Answers how
    /// many.
    async fn purge(&self, queue: &QueueName) -> Result<u64>;
}

/// Where a live job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Due and free to be reserved, or held by an earlier job of its ordering key.
    Ready,
    /// Not due yet, or waiting for a retry.
    Scheduled,
    /// Under a lease.
    Running,
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            JobState::Ready => "ready",
            JobState::Scheduled => "scheduled",
            JobState::Running => "running",
        })
    }
}

impl FromStr for JobState {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "ready" => Ok(JobState::Ready),
            "scheduled" => Ok(JobState::Scheduled),
            "running" => Ok(JobState::Running),
            _ => Err(Error::Invalid {
                what: "job state",
                given: text.into(),
                allowed: "`ready`, `scheduled` or `running`",
            }),
        }
    }
}

/// How many jobs a queue holds in each state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Due and waiting for a worker.
    pub ready: u64,
    /// Not due yet, retries included.
    pub scheduled: u64,
    /// Under a lease.
    pub running: u64,
    /// In the dead letters.
    pub dead: u64,
    /// How long the longest-waiting ready job has been due.
    pub oldest_ready: Option<Duration>,
}

/// A live job, as seen by [`Inspect::peek`].
#[derive(Clone, Debug)]
pub struct JobInfo {
    /// The job.
    pub id: JobId,
    /// Where it stands.
    pub state: JobState,
    /// Deliveries so far.
    pub attempts: u32,
    /// Until it is due, or, when running, until its lease ends. Zero when that has passed.
    pub due_in: Duration,
    /// Why its last run failed.
    pub last_error: Option<String>,
    /// The stored bytes.
    pub body: Bytes,
}

/// A dead letter, as seen by [`Inspect::dead_letters`].
#[derive(Clone, Debug)]
pub struct DeadLetterInfo {
    /// The job.
    pub id: JobId,
    /// The queue it died in.
    pub queue: QueueName,
    /// What kind of end it was.
    pub reason: DeadReason,
    /// The last error.
    pub error: String,
    /// Deliveries in all.
    pub attempts: u32,
    /// When it died, in milliseconds since the Unix epoch.
    pub died_at: u64,
    /// The stored bytes, untouched.
    pub body: Bytes,
}

/// Which dead letters a call is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All of the queue's.
    All,
    /// These, as far as they exist.
    Ids(Vec<JobId>),
}

/// Which part of a listing to return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// The most items to return.
    pub limit: usize,
    /// The [`Page::next`] of the page before; `None` for the first.
    pub after: Option<String>,
}

impl PageRequest {
    /// The first page, of up to `limit` items.
    #[must_use]
    pub fn first(limit: usize) -> Self {
        Self { limit, after: None }
    }
}

/// Part of a listing.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Where the next page starts; `None` after the last.
    pub next: Option<String>,
}
