//! What sees every job on its way in.

use std::{fmt, sync::Arc, time::Duration};

use serde_json::value::RawValue;

use super::Enqueued;
use crate::{
    error::{BoxError, Error, Result},
    job::{Headers, JobId, JobOptions, QueueName},
};

/// Sees every job that is enqueued through a [`Queue`](crate::Queue) handle: to add headers, to
/// validate, to enforce a policy, to count.
///
/// Given to [`Queue::with_hook`](crate::Queue::with_hook). Hooks run in the enqueuer's task, in the
/// order they were added, so they should be quick and must not block. For the simple case there is
/// [`hook_fn`].
pub trait EnqueueHook: Send + Sync + 'static {
    /// Called before the job is checked and encoded. What it changes is checked like what the
    /// caller said; an error refuses the job.
    ///
    /// # Errors
    /// Anything. The caller gets it as [`Error::Refused`], and nothing is stored.
    fn before(&self, job: &mut IncomingJob) -> Result<(), BoxError> {
        let _ = job;
        Ok(())
    }

    /// Called with the answer to a job that was handed to the backend. Not called for a job that
    /// was refused before, for one that [`into_new_job`](super::Enqueue::into_new_job) handed to the
    /// caller, and when the future of the enqueueing is dropped.
    fn after(&self, job: &EnqueuedJob, answer: &Result<Enqueued>) {
        let _ = (job, answer);
    }
}

/// A job on its way in, as an [`EnqueueHook`] sees it: what the job type and the call say together.
#[derive(Debug)]
pub struct IncomingJob {
    pub(super) id: JobId,
    pub(super) driver: &'static str,
    pub(super) name: String,
    pub(super) queue: QueueName,
    pub(super) delay: Duration,
    pub(super) headers: Headers,
    pub(super) options: JobOptions,
    pub(super) payload: Box<RawValue>,
}

impl IncomingJob {
    /// The identity it will be stored under.
    #[must_use]
    pub fn id(&self) -> JobId {
        self.id
    }

    /// The name of the backend's driver.
    #[must_use]
    pub fn driver(&self) -> &'static str {
        self.driver
    }

    /// The job type's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The payload as it will be stored.
    #[must_use]
    pub fn payload(&self) -> &RawValue {
        &self.payload
    }

    /// The queue it goes to.
    #[must_use]
    pub fn queue(&self) -> &QueueName {
        &self.queue
    }

    /// Sends it to another queue.
    pub fn set_queue(&mut self, queue: QueueName) {
        self.queue = queue;
    }

    /// How long until it is due.
    #[must_use]
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// Changes how long until it is due.
    pub fn set_delay(&mut self, delay: Duration) {
        self.delay = delay;
    }

    /// Text that travels beside the payload.
    #[must_use]
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// The headers, to change them.
    pub fn headers_mut(&mut self) -> &mut Headers {
        &mut self.headers
    }

    /// What it asks of the queue: attempts, timeout, retry schedule and keys.
    #[must_use]
    pub fn options(&self) -> &JobOptions {
        &self.options
    }

    /// The options, to change them.
    pub fn options_mut(&mut self) -> &mut JobOptions {
        &mut self.options
    }
}

/// A job that was handed to the backend, as an [`EnqueueHook`] sees it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EnqueuedJob {
    /// The identity it was handed over with. A duplicate's answer has that of the older job.
    pub id: JobId,
    /// The job type's name.
    pub name: String,
    /// Where it went.
    pub queue: QueueName,
}

/// A hook from a function that sees jobs before they are stored.
///
/// ```
/// use goqueue_core::{Queue, queue::hook_fn};
///
/// # fn example(queue: &Queue) -> Queue {
/// queue.with_hook(hook_fn(|job| {
///     if !job.headers().contains_key("tenant") {
///         return Err("the header `tenant` is missing".into());
///     }
///     job.headers_mut().insert("source".into(), "web".into());
///     Ok(())
/// }))
/// # }
/// ```
pub fn hook_fn<F>(function: F) -> HookFn<F>
where
    F: Fn(&mut IncomingJob) -> Result<(), BoxError> + Send + Sync + 'static,
{
    HookFn(function)
}

/// The hook that [`hook_fn`] makes.
#[derive(Clone)]
pub struct HookFn<F>(F);

impl<F> EnqueueHook for HookFn<F>
where
    F: Fn(&mut IncomingJob) -> Result<(), BoxError> + Send + Sync + 'static,
{
    fn before(&self, job: &mut IncomingJob) -> Result<(), BoxError> {
        (self.0)(job)
    }
}

impl<F> fmt::Debug for HookFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HookFn")
            .field(&std::any::type_name::<F>())
            .finish()
    }
}

/// The hooks of one queue handle.
#[derive(Clone, Default)]
pub(super) struct Hooks(Vec<Arc<dyn EnqueueHook>>);

impl Hooks {
    pub(super) fn with(&self, hook: impl EnqueueHook) -> Self {
        let mut hooks = self.clone();
        hooks.0.push(Arc::new(hook));
        hooks
    }

    pub(super) fn before(&self, job: &mut IncomingJob) -> Result<()> {
        for hook in &self.0 {
            hook.before(job).map_err(|source| Error::Refused {
                name: job.name.clone(),
                source,
            })?;
        }
        Ok(())
    }

    /// What to show the hooks later; nothing when there are none.
    pub(super) fn note(&self, id: JobId, name: &str, queue: &QueueName) -> Option<EnqueuedJob> {
        (!self.0.is_empty()).then(|| EnqueuedJob {
            id,
            name: name.to_owned(),
            queue: queue.clone(),
        })
    }

    pub(super) fn after(&self, noted: Option<&EnqueuedJob>, answer: &Result<Enqueued>) {
        let Some(job) = noted else { return };
        for hook in &self.0 {
            hook.after(job, answer);
        }
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hooks({})", self.0.len())
    }
}
