//! A tracing span per job.
//!
//! The span is called `goqueue.job` and has level `INFO`. It lasts from the call of the first inner
//! layer to its answer. The names below are constants of [`goqueue_core::telemetry::field`].
//!
//! | field | value |
//! | --- | --- |
//! | `messaging.message.id` | the job's id |
//! | `messaging.destination.name` | the queue |
//! | `messaging.system` | the driver |
//! | `job.name` | the job type's name |
//! | `job.attempt` | which delivery it is, from 1 |
//! | `traceparent` | the W3C Trace Context of the enqueuer, where it sent that header |
//! | `job.outcome` | recorded at the end, see below |
//! | `error` | the error, or the reason for a discard, recorded at the end |
//!
//! The outcome is a label of [`JobOutcome`], as far as this run alone decides it: `succeeded`,
//! `retried`, `snoozed`, `discarded` or `dead`. Two more are for runs without an answer: `panicked`,
//! and `dropped` when the run met its timeout or its worker was told to stop.

mod layer;

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use goqueue_core::{
    BoxError, JobError, JobErrorKind, JobOutcome, JobResult,
    dead_letter::DeadReason,
    job::TRACEPARENT,
    middleware::JobRequest,
    telemetry::{field, span},
};
use tower::Service;
use tracing::{Instrument, Span, field::Empty};

pub use layer::TraceLayer;

/// The service that [`TraceLayer`] makes.
#[derive(Clone, Debug)]
pub struct Trace<S> {
    inner: S,
}

impl<S> Service<JobRequest> for Trace<S>
where
    S: Service<JobRequest, Response = ()>,
    S::Error: Into<JobError>,
    S::Future: Send + 'static,
{
    type Response = ();
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner
            .poll_ready(cx)
            .map_err(|error| error.into().into_boxed())
    }

    fn call(&mut self, request: JobRequest) -> Self::Future {
        let run = Run::start(&request);
        let span = run.span.clone();
        let answer = span.in_scope(|| self.inner.call(request));
        let traced = async move {
            let answer = answer.await.map_err(Into::into);
            run.end(&answer);
            answer.map_err(JobError::into_boxed)
        };
        Box::pin(traced.instrument(span))
    }
}

/// A run and its span. Whatever way the run ends, the span learns of it.
struct Run {
    span: Span,
    is_last_attempt: bool,
    ended: bool,
}

impl Run {
    fn start(request: &JobRequest) -> Self {
        let context = request.context();
        let span = tracing::info_span!(
            span::JOB,
            { field::ID } = %request.id(),
            { field::QUEUE } = request.queue(),
            { field::SYSTEM } = context.queue_handle().capabilities().driver,
            { field::NAME } = request.name(),
            { field::ATTEMPT } = request.attempt(),
            { TRACEPARENT } = request.headers().get(TRACEPARENT).map(String::as_str),
            { field::OUTCOME } = Empty,
            { field::ERROR } = Empty,
        );
        Self {
            span,
            is_last_attempt: context.is_last_attempt(),
            ended: false,
        }
    }

    fn end(mut self, answer: &JobResult) {
        self.ended = true;
        self.span
            .record(field::OUTCOME, self.outcome(answer).as_str());
        match answer {
            Err(error) if !matches!(error.kind(), JobErrorKind::Snooze(_)) => {
                self.span.record(field::ERROR, error.message());
            }
            _ => {}
        }
    }

    fn outcome(&self, answer: &JobResult) -> JobOutcome {
        let Err(error) = answer else {
            return JobOutcome::Succeeded;
        };
        match error.kind() {
            JobErrorKind::Snooze(delay) => JobOutcome::Snoozed(delay),
            JobErrorKind::Discard => JobOutcome::Discarded,
            JobErrorKind::Permanent => JobOutcome::Dead(DeadReason::Permanent),
            JobErrorKind::Undecodable => JobOutcome::Dead(DeadReason::Undecodable),
            _ if self.is_last_attempt => JobOutcome::Dead(DeadReason::Exhausted),
            JobErrorKind::RetryIn(delay) => JobOutcome::Retried(delay),
            // The worker's policy knows the delay; the label needs none.
            _ => JobOutcome::Retried(Duration::ZERO),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.ended {
            let outcome = if std::thread::panicking() {
                field::PANICKED
            } else {
                field::DROPPED
            };
            self.span.record(field::OUTCOME, outcome);
        }
    }
}
