//! The lines that the log layer writes.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;

use std::{
    fmt::{self, Write as _},
    sync::{Arc, Mutex},
};

use common::{Act, SECOND, memory, serve};
use goqueue_middleware::LogLayer;
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt as _},
    util::SubscriberInitExt as _,
};

/// The lines of the log layer, without the job's id, which is another every time.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let about = event.metadata();
        if about.target() != "goqueue_middleware::logging" {
            return;
        }
        let mut line = Line(about.level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "job" => {}
            "message" => write!(self.0, " {value:?}:").unwrap(),
            name => write!(self.0, " {name}={value:?}").unwrap(),
        }
    }
}

async fn lines(act: Act, layer: LogLayer) -> Vec<String> {
    let lines = Lines::default();
    let _guard = tracing_subscriber::registry()
        .with(lines.clone())
        .set_default();
    let queue = memory();
    let enqueue = queue.enqueue(act).max_attempts(2).timeout(3 * SECOND);
    enqueue.await.unwrap();
    serve(&queue, 3600, |worker| worker.layer(layer)).await;
    let lines = std::mem::take(&mut *lines.0.lock().unwrap());
    assert!(
        lines[0].starts_with(r#"DEBUG job started: name="act" queue="default" attempt=1"#),
        "{lines:?}"
    );
    let ends = lines.into_iter().filter(|line| !line.contains("started"));
    ends.map(|line| line.replace(r#"name="act" queue="default" "#, ""))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_line_for_every_end() {
    let new = LogLayer::new;
    assert_eq!(
        lines(Act::Sleep(2), new()).await,
        ["INFO job succeeded: attempt=1 took=2s"]
    );
    assert_eq!(
        lines(Act::Fail, new()).await,
        [
            r#"WARN job failed: attempt=1 took=0ns error="no luck" outcome=retried"#,
            r#"WARN job failed: attempt=2 took=0ns error="no luck" outcome=dead"#,
        ]
    );
    assert_eq!(
        lines(Act::Discard, new()).await,
        [r#"INFO job discarded: attempt=1 took=0ns reason="outdated""#]
    );
    assert_eq!(
        lines(Act::Snooze, new()).await,
        [
            "INFO job snoozed: attempt=1 took=0ns delay=60s",
            "INFO job succeeded: attempt=1 took=0ns"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_without_an_answer_has_a_line_too() {
    let new = LogLayer::new;
    assert_eq!(
        lines(Act::PanicLater, new()).await,
        [
            "WARN job panicked: attempt=1 took=1s",
            "WARN job panicked: attempt=2 took=1s"
        ]
    );
    assert_eq!(
        lines(Act::Hang, new()).await,
        [
            "WARN job dropped: attempt=1 took=3s",
            "WARN job dropped: attempt=2 took=3s"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn quick_runs_without_a_failure_can_be_quiet() {
    let quiet = || LogLayer::new().quiet_below(2 * SECOND);
    let level = |lines: Vec<String>| lines[0].split(' ').next().unwrap().to_owned();
    assert_eq!(level(lines(Act::Sleep(1), quiet()).await), "DEBUG");
    assert_eq!(level(lines(Act::Sleep(2), quiet()).await), "INFO");
    assert_eq!(level(lines(Act::Snooze, quiet()).await), "DEBUG");
    assert_eq!(level(lines(Act::Fail, quiet()).await), "WARN");
}
