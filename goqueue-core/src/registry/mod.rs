//! Which job names a worker can run.

use std::{any::TypeId, collections::HashMap, fmt, sync::Arc};

use futures_util::future::BoxFuture;

use crate::{
    context::JobContext,
    error::{Error, Result},
    job::{Handler, JobError, JobResult, check_job_name},
};

/// A job type and how to run it. `#[derive(Job)]` submits one through `inventory`, so that a worker
/// finds every job type that is linked into the program.
#[derive(Clone, Copy)]
pub struct Registration {
    name: &'static str,
    queue: &'static str,
    // Functions, since neither is available in a constant yet.
    type_id: fn() -> TypeId,
    type_name: fn() -> &'static str,
    run: fn(JobContext) -> BoxFuture<'static, JobResult>,
}

impl Registration {
    /// The registration of `T`.
    #[must_use]
    pub const fn of<T: Handler>() -> Self {
        Self {
            name: T::NAME,
            queue: T::QUEUE,
            type_id: TypeId::of::<T>,
            type_name: std::any::type_name::<T>,
            run: decode_and_run::<T>,
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("name", &self.name)
            .field("type", &(self.type_name)())
            .finish_non_exhaustive()
    }
}

inventory::collect!(Registration);

/// Decodes inside the future: layers make it while they hold their lock.
fn decode_and_run<T: Handler>(cx: JobContext) -> BoxFuture<'static, JobResult> {
    Box::pin(async move {
        match serde_json::from_str::<T>(cx.payload().get()) {
            Ok(job) => job.handle(cx).await,
            Err(error) => {
                let error = format!("the payload is no `{}`: {error}", T::NAME);
                Err(JobError::undecodable(error))
            }
        }
    })
}

/// The job types of one worker, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registry(HashMap<&'static str, Registration>);

impl Registry {
    /// Everything that was derived and linked in.
    pub(crate) fn discovered() -> Result<Self> {
        let mut registry = Self::default();
        for registration in inventory::iter::<Registration> {
            registry.add(*registration)?;
        }
        Ok(registry)
    }

    /// Adds a type; adding it twice is fine, two types of one name are not.
    pub(crate) fn add(&mut self, new: Registration) -> Result<()> {
        check_job_name(new.name)?;
        let known = self.0.entry(new.name).or_insert(new);
        if (known.type_id)() == (new.type_id)() {
            return Ok(());
        }
        Err(Error::DuplicateJob {
            name: new.name.into(),
            first: (known.type_name)(),
            second: (new.type_name)(),
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The queues that these job types go to on their own, sorted.
    pub(crate) fn queues(&self) -> Vec<&'static str> {
        let mut queues: Vec<_> = self.0.values().map(|known| known.queue).collect();
        queues.sort_unstable();
        queues.dedup();
        queues
    }

    /// All names, sorted.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.0.keys().copied().collect();
        names.sort_unstable();
        names
    }

    /// Runs the handler of the job's name. An unknown one is an ordinary failure: during a deploy a
    /// newer worker may know it.
    pub(crate) fn run(self: &Arc<Self>, cx: JobContext) -> BoxFuture<'static, JobResult> {
        match self.0.get(cx.name()) {
            Some(registration) => (registration.run)(cx),
            None => {
                let (name, known) = (cx.name(), self.names().join("`, `"));
                let error = format!("no handler for job `{name}` in this worker; known: `{known}`");
                Box::pin(std::future::ready(Err(JobError::from(error))))
            }
        }
    }
}
