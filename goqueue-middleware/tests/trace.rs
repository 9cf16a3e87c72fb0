//! What the trace layer tells of a run, through a real worker and a real subscriber.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use goqueue_core::{
    Handler, Job, JobContext, JobError, JobOutcome, JobResult, Queue, RetryPolicy, Worker,
    middleware::{JobRequest, Next, from_fn},
};
use goqueue_memory::MemoryDriver;
use goqueue_middleware::{TraceHook, TraceLayer};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::DefaultGuard,
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt as _},
    registry::LookupSpan,
    util::SubscriberInitExt as _,
};

const SECOND: Duration = Duration::from_secs(1);
const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A job that does as it is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Act {
    Succeed,
    Fail,
    RetryIn,
    Permanent,
    Snooze,
    Discard,
    Panic,
    Hang,
    Sleep { label: String, seconds: u64 },
}

impl Job for Act {
    const NAME: &'static str = "act";
}

impl Handler for Act {
    async fn handle(self, cx: JobContext) -> JobResult {
        let minute = Duration::from_secs(60);
        match self {
            Act::Succeed => Ok(()),
            Act::Fail => Err("no luck".into()),
            Act::RetryIn => Err(JobError::retry_in(minute, "slow down")),
            Act::Permanent => Err(JobError::permanent("no such user")),
            Act::Snooze if !waited(&cx) => Err(JobError::snooze(minute)),
            Act::Snooze => Ok(()),
            Act::Discard => Err(JobError::discard("outdated")),
            Act::Panic => panic!("oh no"),
            Act::Hang => std::future::pending().await,
            Act::Sleep { label, seconds } => {
                tracing::info!(label, "asleep");
                sleep(Duration::from_secs(seconds)).await;
                tracing::info!(label, "awake");
                Ok(())
            }
        }
    }
}

fn waited(cx: &JobContext) -> bool {
    cx.state::<Instant>()
        .is_ok_and(|start| start.elapsed() >= Duration::from_secs(60))
}

/// The outcome and the error that a span recorded.
type End = (String, Option<String>);

/// One span, from its opening to its closing.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    name: String,
    fields: BTreeMap<String, String>,
    events: Vec<String>,
    lasted: Option<Duration>,
}

impl Seen {
    fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }
}

#[derive(Clone, Default)]
struct Capture(Arc<Mutex<Vec<Seen>>>);

struct Opened(usize, Instant);

impl Capture {
    fn start() -> (Self, DefaultGuard) {
        let capture = Self::default();
        let guard = tracing_subscriber::registry()
            .with(capture.clone())
            .set_default();
        (capture, guard)
    }

    fn jobs(&self) -> Vec<Seen> {
        let spans = self.0.lock().unwrap();
        spans
            .iter()
            .filter(|span| span.name == "goqueue.job")
            .cloned()
            .collect()
    }

    fn outcomes(&self) -> Vec<End> {
        let told = |span: &Seen, field| span.field(field).map(str::to_owned);
        self.jobs()
            .iter()
            .map(|span| {
                (
                    told(span, "job.outcome").unwrap_or_default(),
                    told(span, "error"),
                )
            })
            .collect()
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Capture {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, cx: Context<'_, S>) {
        let mut seen = Seen {
            name: attributes.metadata().name().into(),
            ..Seen::default()
        };
        attributes.record(&mut Fields(&mut seen.fields));
        let mut spans = self.0.lock().unwrap();
        let opened = Opened(spans.len(), Instant::now());
        spans.push(seen);
        cx.span(id).unwrap().extensions_mut().insert(opened);
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, cx: Context<'_, S>) {
        let at = cx.span(id).unwrap().extensions().get::<Opened>().unwrap().0;
        record.record(&mut Fields(&mut self.0.lock().unwrap()[at].fields));
    }

    fn on_event(&self, event: &Event<'_>, cx: Context<'_, S>) {
        let Some(span) = cx.lookup_current() else {
            return;
        };
        let at = span.extensions().get::<Opened>().unwrap().0;
        let mut fields = BTreeMap::new();
        event.record(&mut Fields(&mut fields));
        let text = fields.into_values().collect::<Vec<_>>().join(" ");
        self.0.lock().unwrap()[at].events.push(text);
    }

    fn on_close(&self, id: Id, cx: Context<'_, S>) {
        let span = cx.span(&id).unwrap();
        let extensions = span.extensions();
        let Opened(at, since) = extensions.get::<Opened>().unwrap();
        self.0.lock().unwrap()[*at].lasted = Some(since.elapsed());
    }
}

struct Fields<'a>(&'a mut BTreeMap<String, String>);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().into(), format!("{value:?}"));
    }
}

fn queue() -> Queue {
    Queue::new(MemoryDriver::new())
}

fn worker(queue: &Queue) -> goqueue_core::WorkerBuilder {
    Worker::builder(queue)
        .only_registered()
        .register::<Act>()
        .state(Instant::now())
        .retry(RetryPolicy::constant(Duration::ZERO))
        .layer(TraceLayer::new())
}

/// Runs one job until it is gone, and tells the outcomes of its runs.
async fn outcomes(act: Act, max_attempts: u32) -> Vec<End> {
    let (capture, _guard) = Capture::start();
    let queue = queue();
    queue
        .enqueue(act)
        .max_attempts(max_attempts)
        .timeout(Duration::from_secs(30))
        .await
        .unwrap();
    worker(&queue)
        .build()
        .unwrap()
        .run_until(sleep(Duration::from_secs(600)))
        .await
        .unwrap();
    capture.outcomes()
}

fn told(outcome: &str, error: impl Into<Option<&'static str>>) -> End {
    (outcome.into(), error.into().map(str::to_owned))
}

#[tokio::test(start_paused = true)]
async fn a_span_per_run_with_the_fields_of_the_job() {
    let (capture, _guard) = Capture::start();
    let queue = queue();
    let job = queue
        .enqueue(Act::Succeed)
        .queue("mail")
        .header("traceparent", TRACEPARENT)
        .await
        .unwrap();
    worker(&queue)
        .queue("mail", 1)
        .build()
        .unwrap()
        .drain()
        .await
        .unwrap();

    let [span] = capture.jobs().try_into().unwrap();
    let fields: Vec<_> = span
        .fields
        .iter()
        .map(|(k, v)| (k.as_str(), v.as_str()))
        // Those are for OpenTelemetry, and only there when its feature is on.
        .filter(|(k, _)| !k.starts_with("otel."))
        .collect();
    let id = job.id().to_string();
    assert_eq!(
        fields,
        [
            ("job.attempt", "1"),
            ("job.name", "act"),
            ("job.outcome", "succeeded"),
            ("messaging.destination.name", "mail"),
            ("messaging.message.id", id.as_str()),
            ("messaging.operation.name", "process"),
            ("messaging.operation.type", "process"),
            ("messaging.system", "memory"),
            ("traceparent", TRACEPARENT),
        ],
    );
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_run_is_recorded() {
    let dead = |error| told("dead", error);
    assert_eq!(outcomes(Act::Succeed, 2).await, [told("succeeded", None)]);
    assert_eq!(
        outcomes(Act::Fail, 2).await,
        [told("retried", "no luck"), dead("no luck")]
    );
    assert_eq!(
        outcomes(Act::RetryIn, 2).await,
        [told("retried", "slow down"), dead("slow down")]
    );
    assert_eq!(outcomes(Act::Permanent, 2).await, [dead("no such user")]);
    assert_eq!(
        outcomes(Act::Discard, 2).await,
        [told("discarded", "outdated")]
    );
    assert_eq!(
        outcomes(Act::Snooze, 2).await,
        [told("snoozed", None), told("succeeded", None)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_without_an_answer_is_recorded_too() {
    assert_eq!(outcomes(Act::Panic, 1).await, [told("panicked", None)]);
    assert_eq!(outcomes(Act::Hang, 1).await, [told("dropped", None)]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_tells_of_what_kind_it_is() {
    for (act, error_type) in [
        (Act::Succeed, None),
        (Act::Discard, None),
        (Act::Fail, Some("retry")),
        (Act::RetryIn, Some("retry")),
        (Act::Permanent, Some("permanent")),
        (Act::Panic, Some("panicked")),
        (Act::Hang, Some("dropped")),
    ] {
        let (capture, _guard) = Capture::start();
        let queue = queue();
        let enqueue = queue.enqueue(act).max_attempts(1).timeout(SECOND);
        enqueue.await.unwrap();
        worker(&queue).build().unwrap().drain().await.unwrap();
        let [span] = capture.jobs().try_into().unwrap();
        assert_eq!(span.field("error.type"), error_type);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_opens_a_span_for_each_job_that_is_enqueued() {
    let (capture, _guard) = Capture::start();
    let queue = queue().with_hook(TraceHook::new());
    let jobs = queue.enqueue_all([Act::Succeed, Act::Fail]).queue("mail");
    let ids: Vec<_> = jobs.await.unwrap().iter().map(|job| job.id()).collect();
    let mut spans = capture.0.lock().unwrap().clone();
    spans.retain(|span| span.name == "goqueue.enqueue");
    assert_eq!(spans.len(), 2);
    for (span, id) in spans.iter().zip(ids) {
        let told = |name| span.field(name).unwrap();
        assert_eq!(told("messaging.message.id"), id.to_string());
        assert_eq!(told("messaging.destination.name"), "mail");
        assert_eq!(told("messaging.operation.name"), "enqueue");
        assert_eq!(told("messaging.operation.type"), "create");
        assert_eq!(told("messaging.system"), "memory");
        assert_eq!(told("job.name"), "act");
        assert_eq!(span.lasted, Some(Duration::ZERO));
    }
}

#[tokio::test(start_paused = true)]
async fn the_span_covers_the_whole_run_and_nothing_else() {
    let (capture, _guard) = Capture::start();
    let queue = queue();
    let sleeper = |label: &str, seconds| Act::Sleep {
        label: label.into(),
        seconds,
    };
    queue
        .enqueue_all([sleeper("a", 5), sleeper("b", 7)])
        .await
        .unwrap();
    worker(&queue).build().unwrap().drain().await.unwrap();

    let spans = capture.jobs();
    let of = |label: &str| {
        let mine = |span: &&Seen| span.events.iter().any(|event| event.starts_with(label));
        spans.iter().find(mine).unwrap()
    };
    assert_eq!(of("a").events, ["a asleep", "a awake"]);
    assert_eq!(of("b").events, ["b asleep", "b awake"]);
    assert_eq!(of("a").lasted, Some(Duration::from_secs(5)));
    assert_eq!(of("b").lasted, Some(Duration::from_secs(7)));
}

#[tokio::test(start_paused = true)]
async fn the_answer_passes_through_unchanged() {
    let (_capture, _guard) = Capture::start();
    let queue = queue();
    queue.enqueue(Act::RetryIn).await.unwrap();
    let ends = Arc::new(Mutex::new(Vec::new()));
    let within = Arc::new(Mutex::new(Vec::new()));
    let (note_end, note_within) = (Arc::clone(&ends), Arc::clone(&within));
    let current = || tracing::Span::current().metadata().map(|span| span.name());
    worker(&queue)
        .layer(from_fn(move |request: JobRequest, next: Next| {
            // What a layer inside does belongs to the job's span, in its call and in its future.
            note_within.lock().unwrap().push(current());
            let note = Arc::clone(&note_within);
            async move {
                note.lock().unwrap().push(current());
                next.run(request).await
            }
        }))
        .on_job_complete(move |m| note_end.lock().unwrap().push((m.outcome, m.error.clone())))
        .build()
        .unwrap()
        .drain()
        .await
        .unwrap();
    let retried = JobOutcome::Retried(Duration::from_secs(60));
    assert_eq!(
        *ends.lock().unwrap(),
        [(retried, Some("slow down".to_owned()))]
    );
    assert_eq!(*within.lock().unwrap(), [Some("goqueue.job"); 2]);
}
