//! Answers in a job's place under a condition.

mod layer;

use std::future::Future;

use goqueue_core::{JobResult, middleware::JobRequest};

pub use layer::SkipLayer;

use crate::service::{Answer, answer, refuse, service};

service!(SkipLayer makes Skip);

impl SkipLayer {
    fn around<F>(&self, request: JobRequest, run: impl FnOnce(JobRequest) -> F) -> Answer
    where
        F: Future<Output = JobResult> + Send + 'static,
    {
        match self.instead_of(&request) {
            Some(error) => refuse(error),
            None => answer(run(request)),
        }
    }
}
