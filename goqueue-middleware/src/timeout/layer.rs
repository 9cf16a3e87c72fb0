use std::{collections::HashMap, sync::Arc, time::Duration};

/// Drops a run that takes too long. It counts as a failure with the error
/// [`TimedOut`](super::TimedOut).
///
/// The timeout of a job or a worker covers the whole stack, and needs no layer. This one covers what
/// is inside of it: the handler without the wait for a limit further out, say. It belongs inside of
/// whatever makes jobs wait, and outside of [`CatchPanicLayer`](crate::catch_panic::CatchPanicLayer).
#[derive(Clone, Debug)]
pub struct TimeoutLayer {
    limit: Duration,
    of_job: Arc<HashMap<String, Duration>>,
}

impl TimeoutLayer {
    /// Allows each run this long.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self {
            limit,
            of_job: Arc::default(),
        }
    }

    /// Allows runs of the job type with this name another time than the rest.
    #[must_use]
    pub fn for_job(mut self, name: impl Into<String>, limit: Duration) -> Self {
        Arc::make_mut(&mut self.of_job).insert(name.into(), limit);
        self
    }

    pub(super) fn limit_of(&self, name: &str) -> Duration {
        self.of_job.get(name).copied().unwrap_or(self.limit)
    }
}
