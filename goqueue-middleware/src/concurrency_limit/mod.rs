//! So many jobs of a key at once; the others come back later.

mod layer;
mod places;

use std::future::Future;

use goqueue_core::{JobError, JobResult, middleware::JobRequest};

pub use layer::ConcurrencyLimitLayer;

use crate::service::{Answer, answer, refuse, service};

service!(ConcurrencyLimitLayer makes ConcurrencyLimit);

impl ConcurrencyLimitLayer {
    fn around<F>(&self, request: JobRequest, run: impl FnOnce(JobRequest) -> F) -> Answer
    where
        F: Future<Output = JobResult> + Send + 'static,
    {
        let Some(key) = self.key.of(&request) else {
            return answer(run(request));
        };
        let Some(place) = self.places.take(&key, self.most) else {
            return refuse(JobError::snooze(self.snooze));
        };
        drop(key);
        let work = run(request);
        answer(async move {
            let _place = place;
            work.await
        })
    }
}
