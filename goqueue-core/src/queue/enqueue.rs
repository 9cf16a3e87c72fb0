use std::{
    future::IntoFuture,
    time::{Duration, SystemTime},
};

use futures_util::future::BoxFuture;

use super::{
    Queue, RawPayload,
    request::{Draft, Due, Overrides, Prepared, prepare},
};
use crate::{
    driver::{NewJob, PushOutcome},
    error::{Error, Result},
    job::{DEFAULT_QUEUE, Job, JobId, JobOptions},
    retry::RetryPolicy,
};

/// What became of an enqueued job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// It is stored under this id.
    Stored(JobId),
    /// Nothing was stored: the live job with this id holds the unique key.
    Duplicate(JobId),
}

impl Enqueued {
    /// The id of the stored job, or of the one that was there already.
    #[must_use]
    pub fn id(&self) -> JobId {
        match *self {
            Enqueued::Stored(id) | Enqueued::Duplicate(id) => id,
        }
    }

    /// Whether nothing was stored.
    #[must_use]
    pub fn is_duplicate(&self) -> bool {
        matches!(self, Enqueued::Duplicate(_))
    }
}

/// A job about to be stored; awaiting it stores it.
///
/// # Errors
/// Awaiting answers with a refusal before anything was sent (a name, key, size, delay or capability
/// the backend does not take, or a hook that refused), or with the backend's error. Whatever
/// [`is_transient`](Error::is_transient) may be tried again; after [`Error::Timeout`] the job may
/// have been stored all the same.
#[must_use = "a job is enqueued when this is awaited"]
#[derive(Debug)]
pub struct Enqueue {
    queue: Queue,
    draft: Draft,
    over: Overrides,
}

impl Enqueue {
    pub(super) fn typed<J: Job>(queue: Queue, job: J) -> Self {
        Self {
            queue,
            draft: Draft::of(job),
            over: Overrides::default(),
        }
    }

    pub(super) fn raw(queue: Queue, name: String, payload: RawPayload) -> Self {
        let options = JobOptions::default();
        let draft = Draft {
            name,
            queue: DEFAULT_QUEUE,
            payload: payload.0,
            options,
        };
        Self {
            queue,
            draft,
            over: Overrides::default(),
        }
    }
}

/// The setters that a single job and a batch share.
macro_rules! setters {
    ($builder:ty) => {
        impl $builder {
            /// The queue to store to, instead of the job type's own.
            pub fn queue(mut self, name: impl Into<String>) -> Self {
                self.over.queue = Some(name.into());
                self
            }

            /// Not before this long from now, by the backend's clock.
            pub fn delay(mut self, delay: Duration) -> Self {
                self.over.due = Due::In(delay);
                self
            }

            /// Not before this time, which the enqueuer's clock turns into a delay. Types of the
            /// time crates convert with `.into()`. A time that has passed is now.
            pub fn at(mut self, time: impl Into<SystemTime>) -> Self {
                self.over.due = Due::At(time.into());
                self
            }

            /// Keeps the unique key taken for this long from now, even after the job is done.
            pub fn unique_for(mut self, hold: Duration) -> Self {
                self.over.options.unique_for = Some(hold);
                self
            }

            /// Jobs of the queue with this key run one at a time, in the order they were enqueued.
            pub fn ordering_key(mut self, key: impl Into<String>) -> Self {
                self.over.options.ordering_key = Some(key.into());
                self
            }

            /// How many times the job may run in all, the first included.
            pub fn max_attempts(mut self, attempts: u32) -> Self {
                self.over.options.max_attempts = Some(attempts);
                self
            }

            /// How long one run may take.
            pub fn timeout(mut self, timeout: Duration) -> Self {
                self.over.options.timeout = Some(timeout);
                self
            }

            /// Text to travel beside the payload.
            pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
                self.over.headers.insert(name.into(), value.into());
                self
            }

            /// The retry schedule.
            pub fn retry(mut self, policy: RetryPolicy) -> Self {
                self.over.options.retry = Some(policy);
                self
            }
        }
    };
}
pub(super) use setters;

setters!(Enqueue);

impl Enqueue {
    /// Stores nothing while a job of the queue with this key waits or runs.
    pub fn unique_key(mut self, key: impl Into<String>) -> Self {
        self.over.options.unique_key = Some(key.into());
        self
    }

    /// Checks and encodes the job without storing it, for drivers that store it themselves: inside
    /// the caller's transaction, say.
    ///
    /// # Errors
    /// The refusals that awaiting would answer with before anything is sent.
    pub fn into_new_job(self) -> Result<NewJob> {
        Ok(prepare(&self.queue, self.draft, &self.over)?.job)
    }

    async fn run(self) -> Result<Enqueued> {
        let Prepared { job, noted } = prepare(&self.queue, self.draft, &self.over)?;
        let answer = push_one(&self.queue, job).await;
        self.queue.hooks().after(noted.as_ref(), &answer);
        answer
    }
}

impl IntoFuture for Enqueue {
    type Output = Result<Enqueued>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

async fn push_one(queue: &Queue, job: NewJob) -> Result<Enqueued> {
    let id = job.id;
    let push = queue.driver().push(vec![job]);
    let outcomes = queue.within_deadline("enqueue", push).await?;
    match outcomes.into_iter().next() {
        Some(outcome) => answer(id, outcome),
        None => Err(unanswered(queue)),
    }
}

pub(super) fn answer(id: JobId, outcome: PushOutcome) -> Result<Enqueued> {
    match outcome {
        PushOutcome::Stored => Ok(Enqueued::Stored(id)),
        PushOutcome::Duplicate(existing) => Ok(Enqueued::Duplicate(existing)),
        PushOutcome::Refused(error) => Err(error),
    }
}

/// A driver that breaks its promise of one outcome per job.
pub(super) fn unanswered(queue: &Queue) -> Error {
    Error::Backend {
        driver: queue.capabilities().driver,
        operation: "push",
        transient: false,
        source: "the driver answered for fewer jobs than it was given".into(),
    }
}
