//! One trace from the enqueuer to the handler, as OpenTelemetry exports it.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;

use common::{Act, memory, serve};
use goqueue_core::{Envelope, Queue};
use goqueue_middleware::{TraceHook, TraceLayer};
use opentelemetry::trace::{SpanKind, Status, TracerProvider as _};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tracing::{Instrument as _, subscriber::DefaultGuard};
use tracing_subscriber::{layer::SubscriberExt as _, util::SubscriberInitExt as _};

/// The spans that were exported while it lived.
struct Exported {
    provider: SdkTracerProvider,
    exporter: InMemorySpanExporter,
    _guard: DefaultGuard,
}

impl Exported {
    fn start() -> Self {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder()
            .with_simple_exporter(exporter.clone())
            .build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        Self {
            provider,
            exporter,
            _guard: tracing_subscriber::registry().with(layer).set_default(),
        }
    }

    fn spans(&self) -> Vec<SpanData> {
        self.provider.force_flush().unwrap();
        self.exporter.get_finished_spans().unwrap()
    }

    fn named(&self, name: &str) -> Vec<SpanData> {
        let mut spans = self.spans();
        spans.retain(|span| span.name == name);
        spans
    }

    fn only(&self, name: &str) -> SpanData {
        let names: Vec<_> = self.spans().into_iter().map(|span| span.name).collect();
        let [span] = self
            .named(name)
            .try_into()
            .unwrap_or_else(|_| panic!("{names:?}"));
        span
    }
}

fn attribute(span: &SpanData, key: &str) -> Option<String> {
    let mine = |pair: &&opentelemetry::KeyValue| pair.key.as_str() == key;
    let found = span.attributes.iter().find(mine)?;
    Some(found.value.to_string())
}

async fn enqueue(queue: &Queue, act: Act) {
    let request = tracing::info_span!("request");
    let queue = queue.with_hook(TraceHook::new());
    let enqueue = queue.enqueue(act).max_attempts(2).queue("default");
    async { enqueue.await.unwrap() }.instrument(request).await;
}

#[tokio::test(start_paused = true)]
async fn the_enqueueing_is_the_parent_of_every_run() {
    let exported = Exported::start();
    let queue = memory();
    enqueue(&queue, Act::Fail).await;
    serve(&queue, 10, |worker| worker.layer(TraceLayer::new())).await;

    let (request, sent) = (exported.only("request"), exported.only("enqueue default"));
    assert_eq!(sent.parent_span_id, request.span_context.span_id());
    let runs = exported.named("process default");
    assert_eq!(runs.len(), 2);
    for (run, attempt) in runs.iter().zip(["1", "2"]) {
        assert_eq!(run.parent_span_id, sent.span_context.span_id());
        assert!(run.parent_span_is_remote);
        assert_eq!(run.span_context.trace_id(), request.span_context.trace_id());
        assert_eq!(attribute(run, "job.attempt").unwrap(), attempt);
    }
}

#[tokio::test(start_paused = true)]
async fn the_enqueueing_may_be_a_link_instead() {
    let exported = Exported::start();
    let queue = memory();
    enqueue(&queue, Act::Succeed).await;
    serve(&queue, 10, |worker| {
        worker.layer(TraceLayer::new().linked())
    })
    .await;

    let (sent, run) = (
        exported.only("enqueue default"),
        exported.only("process default"),
    );
    assert_ne!(run.span_context.trace_id(), sent.span_context.trace_id());
    let links: Vec<_> = run.links.iter().map(|link| &link.span_context).collect();
    assert_eq!(links.len(), 1);
    assert_eq!(links[0].trace_id(), sent.span_context.trace_id());
    assert_eq!(links[0].span_id(), sent.span_context.span_id());
}

#[tokio::test(start_paused = true)]
async fn the_spans_follow_the_conventions() {
    let exported = Exported::start();
    let queue = memory();
    enqueue(&queue, Act::Permanent).await;
    serve(&queue, 10, |worker| worker.layer(TraceLayer::new())).await;

    let (sent, run) = (
        exported.only("enqueue default"),
        exported.only("process default"),
    );
    assert_eq!(
        (&sent.span_kind, &run.span_kind),
        (&SpanKind::Producer, &SpanKind::Consumer)
    );
    for (span, operation, of_type) in [(&sent, "enqueue", "create"), (&run, "process", "process")] {
        let told = |key| attribute(span, key).unwrap();
        assert_eq!(told("messaging.operation.name"), operation);
        assert_eq!(told("messaging.operation.type"), of_type);
        assert_eq!(told("messaging.system"), "memory");
        assert_eq!(told("messaging.destination.name"), "default");
        assert_eq!(told("job.name"), "act");
    }
    let id = "messaging.message.id";
    assert_eq!(attribute(&sent, id).unwrap(), attribute(&run, id).unwrap());
    assert_eq!(attribute(&run, "job.outcome").unwrap(), "dead");
    assert_eq!(attribute(&run, "error.type").unwrap(), "permanent");
    assert_eq!(run.status, Status::error("no such user"));
    assert_eq!(sent.status, Status::Unset);
}

#[tokio::test(start_paused = true)]
async fn success_and_the_answers_that_are_no_failure_leave_the_status_unset() {
    let exported = Exported::start();
    for act in [Act::Succeed, Act::Discard, Act::Snooze] {
        let queue = memory();
        enqueue(&queue, act).await;
        serve(&queue, 10, |worker| worker.layer(TraceLayer::new())).await;
    }
    let runs = exported.named("process default");
    assert_eq!(runs.len(), 3);
    for run in runs {
        assert_eq!(run.status, Status::Unset);
        assert_eq!(attribute(&run, "error.type"), None);
    }
}

const FOREIGN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[tokio::test(start_paused = true)]
async fn a_context_that_the_caller_set_is_kept_and_continued() {
    let exported = Exported::start();
    let queue = memory().with_hook(TraceHook::new());
    let enqueue = queue.enqueue(Act::Succeed).header("traceparent", FOREIGN);
    enqueue.await.unwrap();
    serve(&queue, 10, |worker| worker.layer(TraceLayer::new())).await;
    let run = exported.only("process default");
    assert_eq!(run.parent_span_id.to_string(), "00f067aa0ba902b7");
    let trace = run.span_context.trace_id().to_string();
    assert_eq!(trace, "4bf92f3577b34da6a3ce929d0e0e4736");
}

#[tokio::test(start_paused = true)]
async fn a_context_that_is_none_starts_a_trace_of_its_own() {
    let exported = Exported::start();
    let queue = memory();
    let enqueue = queue
        .enqueue(Act::Succeed)
        .header("traceparent", "nonsense");
    enqueue.await.unwrap();
    serve(&queue, 10, |worker| worker.layer(TraceLayer::new())).await;
    let run = exported.only("process default");
    assert_eq!(run.parent_span_id, opentelemetry::trace::SpanId::INVALID);
}

#[tokio::test]
async fn nothing_is_sent_along_when_nobody_collects_spans() {
    let queue = memory().with_hook(TraceHook::new());
    let job = queue.enqueue(Act::Succeed).into_new_job().unwrap();
    assert!(Envelope::decode(&job.body).unwrap().headers.is_empty());
}
