//! Jobs that nobody needs any more do not run.
//!
//! A job says until when it may start in the header [`EXPIRES_AT`]. [`ExpireExt`] sets it on one
//! job, [`ExpiryHook`] on all jobs of a queue handle, and [`DeadlineLayer`] heeds it.

mod expire;
mod layer;

use std::{
    future::Future,
    time::{Duration, SystemTime},
};

use goqueue_core::{JobError, JobResult, middleware::JobRequest};

pub use expire::{EXPIRES_AT, ExpireExt, ExpiryHook};
pub use layer::DeadlineLayer;

use crate::service::{Answer, answer, refuse, service};

service!(DeadlineLayer makes Deadline);

impl DeadlineLayer {
    fn around<F>(&self, request: JobRequest, run: impl FnOnce(JobRequest) -> F) -> Answer
    where
        F: Future<Output = JobResult> + Send + 'static,
    {
        let header = request.headers().get(EXPIRES_AT);
        match header.and_then(|header| self.instead(&request, header)) {
            Some(error) => refuse(error),
            None => answer(run(request)),
        }
    }

    fn instead(&self, request: &JobRequest, header: &str) -> Option<JobError> {
        let Some(expires_at) = read(header) else {
            let error = format!(
                "invalid header `{EXPIRES_AT}: {header}`: allowed are whole milliseconds since the \
                 Unix epoch"
            );
            return Some(JobError::permanent(error));
        };
        let late = SystemTime::now().duration_since(expires_at).ok()?;
        if late.is_zero() {
            return None;
        }
        let reason = format!("expired {late:?} ago");
        tracing::warn!(
            job = %request.id(), name = request.name(), queue = request.queue(), ?late,
            dead_letter = self.keeps, "job expired before it could run"
        );
        Some(if self.keeps {
            JobError::permanent(reason)
        } else {
            JobError::discard(reason)
        })
    }
}

fn read(header: &str) -> Option<SystemTime> {
    let millis = header.parse().map(Duration::from_millis).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(millis)
}
