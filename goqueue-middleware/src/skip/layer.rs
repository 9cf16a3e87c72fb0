use std::{fmt, sync::Arc};

use goqueue_core::{JobError, middleware::JobRequest};

/// Keeps jobs from running under a condition: those of a tenant that left, of a feature that is
/// switched off, of a maintenance window.
///
/// It belongs outside of everything that limits, so that what does not run takes no place there,
/// and inside of what observes.
///
/// ```
/// use std::time::Duration;
/// use goqueue_core::JobError;
/// use goqueue_middleware::SkipLayer;
///
/// let left = SkipLayer::when(
///     |job| job.headers().get("tenant").is_some_and(|tenant| tenant == "acme"),
///     "the tenant has left",
/// );
/// let paused = SkipLayer::new(|job| {
///     (job.queue() == "reports").then(|| JobError::snooze(Duration::from_secs(60)))
/// });
/// # let _ = (left, paused);
/// ```
#[derive(Clone)]
pub struct SkipLayer(Arc<AnswerOf>);

type AnswerOf = dyn Fn(&JobRequest) -> Option<JobError> + Send + Sync;

impl SkipLayer {
    /// Asks `answer` before each run: what it gives is the job's answer, `None` lets the job run.
    ///
    /// It should be quick: the worker's other jobs wait for it.
    #[must_use]
    pub fn new(answer: impl Fn(&JobRequest) -> Option<JobError> + Send + Sync + 'static) -> Self {
        Self(Arc::new(answer))
    }

    /// Discards jobs for which `condition` holds; the reason is logged with each.
    #[must_use]
    pub fn when(
        condition: impl Fn(&JobRequest) -> bool + Send + Sync + 'static,
        reason: impl Into<String>,
    ) -> Self {
        let reason = reason.into();
        Self::new(move |request| condition(request).then(|| JobError::discard(&*reason)))
    }

    pub(super) fn instead_of(&self, request: &JobRequest) -> Option<JobError> {
        (self.0)(request)
    }
}

impl fmt::Debug for SkipLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkipLayer").finish_non_exhaustive()
    }
}
