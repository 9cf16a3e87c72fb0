//! What a handler knows about the run it is part of.

mod state;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde_json::value::RawValue;
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use crate::{
    error::Result,
    job::{Envelope, Headers, JobId},
    queue::Queue,
    worker::RunningJob,
};

pub use state::MissingState;
pub(crate) use state::StateMap;

/// One run of one job: its identity, its worker's shared state, and its lease.
///
/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct JobContext(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    envelope: Envelope,
    max_attempts: u32,
    has_handler: bool,
    running: Arc<RunningJob>,
    state: Arc<StateMap>,
    queue: Queue,
}

impl JobContext {
    pub(crate) fn new(
        envelope: Envelope,
        max_attempts: u32,
        has_handler: bool,
        running: Arc<RunningJob>,
        state: Arc<StateMap>,
        queue: Queue,
    ) -> Self {
        Self(Arc::new(Inner {
            envelope,
            max_attempts,
            has_handler,
            running,
            state,
            queue,
        }))
    }

    /// The job's identity, the same on every attempt: a good idempotency key.
    #[must_use]
    pub fn id(&self) -> JobId {
        self.0.envelope.id
    }

    /// The job type's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.envelope.name
    }

    /// Whether this worker knows a handler for that name. Without one the run fails, and a layer that
    /// keeps something by name does well to take such names together: nobody bounds their number.
    #[must_use]
    pub fn has_handler(&self) -> bool {
        self.0.has_handler
    }

    /// The queue this run was reserved from.
    #[must_use]
    pub fn queue(&self) -> &str {
        self.0.running.lease().queue.as_str()
    }

    /// Which delivery this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.0.running.attempt()
    }

    /// How many times the job may run in all.
    #[must_use]
    pub fn max_attempts(&self) -> u32 {
        self.0.max_attempts
    }

    /// Whether a failure now sends the job to the dead letters.
    #[must_use]
    pub fn is_last_attempt(&self) -> bool {
        self.attempt() >= self.max_attempts()
    }

    /// Text that was enqueued beside the payload.
    #[must_use]
    pub fn headers(&self) -> &Headers {
        &self.0.envelope.headers
    }

    /// When the job was enqueued, by the producer's clock.
    #[must_use]
    pub fn enqueued_at(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.0.envelope.enqueued_at)
    }

    /// The payload as it was enqueued.
    #[must_use]
    pub fn payload(&self) -> &RawValue {
        &self.0.envelope.payload
    }

    /// The value that [`WorkerBuilder::state`](crate::WorkerBuilder::state) was given for this type.
    ///
    /// # Errors
    /// [`MissingState`] when it was given none; `?` in a handler makes that a failure.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<&T, MissingState> {
        self.0.state.get()
    }

    /// Waits until this run should stop: its lease was lost, or the worker's grace is over. Shortly
    /// after that the handler's future is dropped.
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        self.0.running.token().cancelled()
    }

    /// Whether this run should stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.running.token().is_cancelled()
    }

    /// The token behind [`cancelled`](JobContext::cancelled), to hand to other tasks.
    #[must_use]
    pub fn cancellation_token(&self) -> CancellationToken {
        self.0.running.token().clone()
    }

    /// The queue, to enqueue follow-up jobs.
    #[must_use]
    pub fn queue_handle(&self) -> &Queue {
        &self.0.queue
    }

    /// Moves the end of the lease to `by` from now.
    ///
    /// Rarely needed: the worker keeps the leases of what it runs. It helps a handler that is about
    /// to block its whole runtime.
    ///
    /// # Errors
    /// The driver's error, or [`LeaseLost`] when another worker may have the job already.
    pub async fn extend(&self, by: Duration) -> Result<(), ExtendError> {
        self.0.running.extend(&**self.0.queue.driver(), by).await
    }
}

/// Another worker may have the job: its effects should stop here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the lease is lost")]
pub struct LeaseLost;

/// Why a lease was not extended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtendError {
    /// It is held by nobody or by another worker.
    #[error(transparent)]
    Lost(#[from] LeaseLost),
    /// The driver failed; the lease may still hold.
    #[error(transparent)]
    Driver(#[from] crate::error::Error),
}
