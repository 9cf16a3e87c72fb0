//! After failures in a row, jobs wait instead of failing too.

mod circuit;
mod circuits;
mod layer;

use std::future::Future;

use goqueue_core::{JobError, JobErrorKind, JobResult, middleware::JobRequest};

pub use layer::CircuitBreakerLayer;

use crate::service::{Answer, answer, refuse, service};
use circuit::Sign;

service!(CircuitBreakerLayer makes CircuitBreaker);

impl CircuitBreakerLayer {
    fn around<F>(&self, request: JobRequest, run: impl FnOnce(JobRequest) -> F) -> Answer
    where
        F: Future<Output = JobResult> + Send + 'static,
    {
        let Some(key) = self.key.of(&request) else {
            return answer(run(request));
        };
        let admitted = self.circuits.admit(&key, request.context());
        let watch = match admitted {
            Ok(watch) => watch,
            Err(wait) => return refuse(JobError::snooze(wait)),
        };
        drop(key);
        let work = run(request);
        answer(async move {
            let answer = work.await;
            watch.saw(sign_of(&answer));
            answer
        })
    }
}

/// What an answer says about the thing that the handler depends on.
fn sign_of(answer: &JobResult) -> Sign {
    match answer.as_ref().map_err(JobError::kind) {
        Ok(()) => Sign::Good,
        Err(JobErrorKind::Retry | JobErrorKind::RetryIn(_)) => Sign::Bad,
        Err(_) => Sign::None,
    }
}
