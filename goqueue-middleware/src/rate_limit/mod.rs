//! So many jobs of a key per period; the others come back later.

mod layer;
mod window;

use std::future::Future;

use goqueue_core::{JobError, JobResult, middleware::JobRequest};

pub use layer::{MAX_SNOOZE, RateLimitLayer};

use crate::service::{Answer, answer, refuse, service};

service!(RateLimitLayer makes RateLimit);

impl RateLimitLayer {
    fn around<F>(&self, request: JobRequest, run: impl FnOnce(JobRequest) -> F) -> Answer
    where
        F: Future<Output = JobResult> + Send + 'static,
    {
        let wait = self.key.of(&request).and_then(|key| self.take(&key).err());
        match wait {
            Some(wait) => refuse(JobError::snooze(wait)),
            None => answer(run(request)),
        }
    }
}
