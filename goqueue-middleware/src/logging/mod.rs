//! A log line per run.
//!
//! | line | level | fields |
//! | --- | --- | --- |
//! | `job started` | `DEBUG` | `job`, `name`, `queue`, `attempt` |
//! | `job succeeded`, `job snoozed`, `job discarded` | `INFO`, or `DEBUG` when [quicker](LogLayer::quiet_below) | the same, `took`, and the `reason` of a discard |
//! | `job failed` | `WARN` | the same, `took`, `error`, and the `outcome` |
//! | `job panicked`, `job dropped` | `WARN` | the same, `took` |

mod layer;

use std::future::Future;

use goqueue_core::{JobContext, JobOutcome, JobResult, middleware::JobRequest};
use tokio::time::Instant;

pub use layer::LogLayer;

use crate::{
    outcome::outcome_of,
    service::{Answer, answer, service},
};

service!(LogLayer makes Log);

impl LogLayer {
    fn around<F>(&self, request: JobRequest, run: impl FnOnce(JobRequest) -> F) -> Answer
    where
        F: Future<Output = JobResult> + Send + 'static,
    {
        let entry = Entry::start(*self, request.context().clone());
        let work = run(request);
        answer(async move {
            let answer = work.await;
            entry.end(&answer);
            answer
        })
    }
}

/// A run whose end is logged, whatever way it ends.
struct Entry {
    layer: LogLayer,
    cx: JobContext,
    started: Instant,
    is_told: bool,
}

impl Entry {
    fn start(layer: LogLayer, cx: JobContext) -> Self {
        let (job, name, queue, attempt) = (cx.id(), cx.name(), cx.queue(), cx.attempt());
        tracing::debug!(%job, name, queue, attempt, "job started");
        Self {
            layer,
            cx,
            started: Instant::now(),
            is_told: false,
        }
    }

    fn end(mut self, answer: &JobResult) {
        self.is_told = true;
        let cx = &self.cx;
        let (job, name, queue, attempt) = (cx.id(), cx.name(), cx.queue(), cx.attempt());
        let took = self.started.elapsed();
        let outcome = outcome_of(answer, cx.is_last_attempt());
        let reason = answer.as_ref().err().map(|error| error.message());
        // A level is part of a line's fixed data, so each level is a line of its own.
        match outcome {
            JobOutcome::Succeeded if took < self.layer.quiet_below => {
                tracing::debug!(%job, name, queue, attempt, ?took, "job succeeded");
            }
            JobOutcome::Succeeded => {
                tracing::info!(%job, name, queue, attempt, ?took, "job succeeded");
            }
            JobOutcome::Snoozed(delay) if took < self.layer.quiet_below => {
                tracing::debug!(%job, name, queue, attempt, ?took, ?delay, "job snoozed");
            }
            JobOutcome::Snoozed(delay) => {
                tracing::info!(%job, name, queue, attempt, ?took, ?delay, "job snoozed");
            }
            JobOutcome::Discarded => {
                tracing::info!(%job, name, queue, attempt, ?took, reason, "job discarded");
            }
            _ => {
                tracing::warn!(
                    %job, name, queue, attempt, ?took, error = reason, %outcome, "job failed"
                );
            }
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if self.is_told {
            return;
        }
        let cx = &self.cx;
        let (job, name, queue, attempt) = (cx.id(), cx.name(), cx.queue(), cx.attempt());
        let took = self.started.elapsed();
        if std::thread::panicking() {
            tracing::warn!(%job, name, queue, attempt, ?took, "job panicked");
        } else {
            // It met its timeout, or its worker was told to stop.
            tracing::warn!(%job, name, queue, attempt, ?took, "job dropped");
        }
    }
}
