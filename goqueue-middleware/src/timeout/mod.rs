//! A limit to how long what is inside may take.

mod error;
mod layer;

use std::future::Future;

use goqueue_core::{JobResult, middleware::JobRequest};

pub use error::TimedOut;
pub use layer::TimeoutLayer;

use crate::service::{Answer, answer, service};

service!(TimeoutLayer makes Timeout);

impl TimeoutLayer {
    fn around<F>(&self, request: JobRequest, run: impl FnOnce(JobRequest) -> F) -> Answer
    where
        F: Future<Output = JobResult> + Send + 'static,
    {
        let limit = self.limit_of(request.name());
        let work = run(request);
        answer(async move {
            match tokio::time::timeout(limit, work).await {
                Ok(answer) => answer,
                Err(_) => Err(TimedOut { limit }.into()),
            }
        })
    }
}
