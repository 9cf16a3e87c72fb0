//! One OpenTelemetry trace from the request that enqueues to every run of the job.
//!
//! ```text
//! cargo run -p goqueue-examples-observability --example opentelemetry              # the runs go on in the enqueuer's trace
//! cargo run -p goqueue-examples-observability --example opentelemetry -- --linked  # each run has a trace of its own, with a link
//! ```
//!
//! Spans are printed instead of sent. A service has an OTLP exporter in that place, and the rest
//! stays as it is.

use std::{process::ExitCode, sync::Arc, time::Duration};

use goqueue::{
    middleware::{TraceHook, TraceLayer},
    prelude::*,
};
use opentelemetry::trace::{SpanId, Status, TracerProvider as _};
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{SdkTracerProvider, SpanData, SpanExporter},
};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tracing::Instrument as _;
use tracing_subscriber::{filter::LevelFilter, layer::SubscriberExt as _, util::SubscriberInitExt};

#[derive(Debug, Serialize, Deserialize, Job)]
#[job(name = "mail.welcome", queue = "mail", initial_delay = "50ms")]
struct WelcomeMail {
    user_id: u64,
}

impl Handler for WelcomeMail {
    async fn handle(self, cx: JobContext) -> JobResult {
        // Spans of the handler are inside of the run's.
        let span = tracing::info_span!("smtp.send", user = self.user_id);
        async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            match cx.attempt() {
                1 => Err("connection reset".into()),
                _ => Ok(()),
            }
        }
        .instrument(span)
        .await
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let given: Vec<_> = std::env::args().skip(1).collect();
    let layer = match given.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => TraceLayer::new(),
        ["--linked"] => TraceLayer::new().linked(),
        [first, ..] => {
            eprintln!("error: unknown argument `{first}`: allowed is `--linked`");
            return ExitCode::from(2);
        }
    };
    let provider = SdkTracerProvider::builder()
        .with_simple_exporter(Printer)
        .build();
    let to_opentelemetry = tracing_opentelemetry::layer().with_tracer(provider.tracer("example"));
    tracing_subscriber::registry()
        .with(LevelFilter::INFO)
        .with(to_opentelemetry)
        .init();

    println!(
        "{:<34}{:<18}{:<18}{:<10}NAME",
        "TRACE", "SPAN", "PARENT", "KIND"
    );
    if let Err(error) = run(layer).await {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    // A batch exporter would still hold the last spans.
    match provider.shutdown() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(layer: TraceLayer) -> goqueue::Result<()> {
    // The hook sends the trace context along with every job.
    let queue = Queue::connect_url("memory://").await?;
    let queue = queue.with_hook(TraceHook::new());

    let request = tracing::info_span!("POST /users");
    async { queue.enqueue(WelcomeMail { user_id: 1 }).await }
        .instrument(request)
        .await?;

    let done = Arc::new(Notify::new());
    let is_done = Arc::clone(&done);
    Worker::builder(&queue)
        .layer(layer)
        .on_job_complete(move |run| {
            if run.outcome.is_final() {
                is_done.notify_one();
            }
        })
        .build()?
        .run_until(async move { done.notified().await })
        .await?;
    Ok(())
}

/// An exporter that prints.
#[derive(Debug)]
struct Printer;

impl SpanExporter for Printer {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        for span in batch {
            let parent = match span.parent_span_id {
                SpanId::INVALID => "-".to_owned(),
                parent => parent.to_string(),
            };
            let kind = format!("{:?}", span.span_kind).to_lowercase();
            let mut line = format!(
                "{:<34}{:<18}{parent:<18}{kind:<10}{}",
                span.span_context.trace_id().to_string(),
                span.span_context.span_id().to_string(),
                span.name
            );
            for link in span.links.iter() {
                let (trace, linked) = (link.span_context.trace_id(), link.span_context.span_id());
                line.push_str(&format!("  link to {linked} of {trace}"));
            }
            if let Status::Error { description } = &span.status {
                line.push_str(&format!("  error: {description}"));
            }
            println!("{line}");
        }
        Ok(())
    }
}
