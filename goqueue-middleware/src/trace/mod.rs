//! Tracing spans per run and per enqueueing.
//!
//! [`TraceLayer`] opens a span `goqueue.job` of level `INFO` around every run, from the call of the
//! first inner layer to its answer. [`TraceHook`] opens a span `goqueue.enqueue` of level `INFO` for
//! every job that is enqueued. Their fields follow the OpenTelemetry semantic conventions for
//! messaging; the names are constants of [`goqueue_core::telemetry::field`].
//!
//! | field | value |
//! | --- | --- |
//! | `messaging.operation.name` | `process`, or `enqueue` |
//! | `messaging.operation.type` | `process`, or `create` |
//! | `messaging.message.id` | the job's id |
//! | `messaging.destination.name` | the queue |
//! | `messaging.system` | the driver |
//! | `job.name` | the job type's name |
//!
//! Of a run also:
//!
//! | field | value |
//! | --- | --- |
//! | `job.attempt` | which delivery it is, from 1 |
//! | `traceparent` | the W3C Trace Context of the enqueuer, where it sent that header |
//! | `job.outcome` | recorded at the end, see below |
//! | `error` | the error, or the reason for a discard, recorded at the end |
//! | `error.type` | of a failure, recorded at the end: `retry`, `permanent`, `undecodable`, `panicked` or `dropped` |
//!
//! The outcome is a label of [`JobOutcome`](goqueue_core::JobOutcome), as far as this run alone
//! decides it: `succeeded`, `retried`, `snoozed`, `discarded` or `dead`. Two more are for runs
//! without an answer: `panicked`, and `dropped` when the run met its timeout or its worker was told
//! to stop.
//!
//! # OpenTelemetry
//!
//! With the feature `opentelemetry` and a subscriber that has the layer of `tracing-opentelemetry`,
//! [`TraceHook`] sends the enqueuer's trace context along in the headers `traceparent` and
//! `tracestate`, and [`TraceLayer`] makes it the parent of the run's span, or with
//! `TraceLayer::linked` a link of it. The spans are named `enqueue QUEUE` and
//! `process QUEUE`, are of the kinds producer and consumer, and a run that failed has the status
//! error. The spans of all attempts of a job hang on the same enqueueing.

mod hook;
mod layer;
#[cfg(feature = "opentelemetry")]
mod otel;

use std::future::Future;

use goqueue_core::{
    JobErrorKind, JobResult,
    job::TRACEPARENT,
    middleware::JobRequest,
    telemetry::{field, span},
};
use tracing::{Instrument, Span, field::Empty};

pub use hook::TraceHook;
pub use layer::TraceLayer;

use crate::{
    outcome::outcome_of,
    service::{Answer, answer, service},
};

service!(TraceLayer makes Trace);

impl TraceLayer {
    fn around<F>(&self, request: JobRequest, run: impl FnOnce(JobRequest) -> F) -> Answer
    where
        F: Future<Output = JobResult> + Send + 'static,
    {
        let watch = self.start(&request);
        let span = watch.span.clone();
        let work = span.in_scope(|| run(request));
        let traced = async move {
            let answer = work.await;
            watch.end(&answer);
            answer
        };
        answer(traced.instrument(span))
    }

    fn start(&self, request: &JobRequest) -> Run {
        let context = request.context();
        let span = tracing::info_span!(
            span::JOB,
            { field::OPERATION } = "process",
            { field::OPERATION_TYPE } = "process",
            { field::ID } = %request.id(),
            { field::QUEUE } = request.queue(),
            { field::SYSTEM } = context.queue_handle().capabilities().driver,
            { field::NAME } = request.name(),
            { field::ATTEMPT } = request.attempt(),
            { TRACEPARENT } = request.headers().get(TRACEPARENT).map(String::as_str),
            { field::OUTCOME } = Empty,
            { field::ERROR } = Empty,
            { field::ERROR_TYPE } = Empty,
            otel.name = otel_name("process", request.queue()),
            otel.kind = otel_kind("consumer"),
        );
        #[cfg(feature = "opentelemetry")]
        otel::continue_from(request.headers(), &span, self.links);
        Run {
            span,
            is_last_attempt: context.is_last_attempt(),
            is_ended: false,
        }
    }
}

/// Span names of OpenTelemetry, which otherwise would only clutter the log.
fn otel_name(operation: &str, queue: &str) -> Option<String> {
    cfg!(feature = "opentelemetry").then(|| format!("{operation} {queue}"))
}

fn otel_kind(kind: &'static str) -> Option<&'static str> {
    cfg!(feature = "opentelemetry").then_some(kind)
}

/// A run and its span. Whatever way the run ends, the span learns of it.
struct Run {
    span: Span,
    is_last_attempt: bool,
    is_ended: bool,
}

impl Run {
    fn end(mut self, answer: &JobResult) {
        self.is_ended = true;
        let outcome = outcome_of(answer, self.is_last_attempt);
        self.span.record(field::OUTCOME, outcome.as_str());
        let Err(error) = answer else { return };
        let error_type = match error.kind() {
            JobErrorKind::Snooze(_) => return,
            JobErrorKind::Discard => None,
            JobErrorKind::Permanent => Some("permanent"),
            JobErrorKind::Undecodable => Some("undecodable"),
            _ => Some("retry"),
        };
        self.span.record(field::ERROR, error.message());
        if let Some(error_type) = error_type {
            self.failed(error_type, error.message());
        }
    }

    fn failed(&self, error_type: &'static str, _message: &str) {
        self.span.record(field::ERROR_TYPE, error_type);
        #[cfg(feature = "opentelemetry")]
        otel::failed(&self.span, _message);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.is_ended {
            let outcome = if std::thread::panicking() {
                field::PANICKED
            } else {
                field::DROPPED
            };
            self.span.record(field::OUTCOME, outcome);
            self.failed(outcome, outcome);
        }
    }
}
