//! Layers of the `tower` crate, used as they are, and layers of one's own, around the jobs of a real
//! worker.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use goqueue_core::{
    Handler, Job, JobContext, JobError, JobErrorKind, JobOutcome, JobResult, Queue, RetryPolicy,
    Worker, WorkerBuilder,
    dead_letter::DeadReason,
    middleware::{JobRequest, Next, from_fn},
};
use goqueue_memory::MemoryDriver;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};
use tower::{
    Layer, Service, ServiceBuilder, limit::ConcurrencyLimitLayer, limit::RateLimitLayer,
    load_shed::LoadShedLayer, timeout::TimeoutLayer,
};

const SECOND: Duration = Duration::from_secs(1);

/// Sleeps, then answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Work {
    seconds: u64,
    answer: Answer,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Answer {
    Done,
    Permanent,
    Fail,
}

impl Job for Work {
    const NAME: &'static str = "work";
}

impl Handler for Work {
    async fn handle(self, cx: JobContext) -> JobResult {
        let watch = cx.state::<Watch>()?;
        watch.starts.lock().unwrap().push(watch.since.elapsed());
        let running = watch.running.fetch_add(1, Ordering::SeqCst) + 1;
        watch.most.fetch_max(running, Ordering::SeqCst);
        sleep(SECOND * self.seconds as u32).await;
        watch.running.fetch_sub(1, Ordering::SeqCst);
        match self.answer {
            Answer::Done => Ok(()),
            Answer::Permanent => Err(JobError::permanent("no such user")),
            Answer::Fail => Err("no luck".into()),
        }
    }
}

/// How a run ended, and its error.
type End = (JobOutcome, Option<String>);

/// What the handlers saw, and how their runs ended.
#[derive(Clone)]
struct Watch {
    since: Instant,
    starts: Arc<Mutex<Vec<Duration>>>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    ends: Arc<Mutex<Vec<End>>>,
}

impl Watch {
    fn start() -> Self {
        Self {
            since: Instant::now(),
            starts: Arc::default(),
            running: Arc::default(),
            most: Arc::default(),
            ends: Arc::default(),
        }
    }

    fn starts(&self) -> Vec<u64> {
        let mut starts: Vec<_> = self
            .starts
            .lock()
            .unwrap()
            .iter()
            .map(Duration::as_secs)
            .collect();
        starts.sort_unstable();
        starts
    }

    fn ends(&self) -> Vec<End> {
        self.ends.lock().unwrap().clone()
    }

    fn succeeded(&self) -> usize {
        self.ends()
            .iter()
            .filter(|(outcome, _)| *outcome == JobOutcome::Succeeded)
            .count()
    }
}

/// Runs jobs to their end under the layers that `stack` adds. One attempt each.
async fn run<const N: usize>(
    jobs: [Work; N],
    stack: impl FnOnce(WorkerBuilder) -> WorkerBuilder,
) -> Watch {
    let queue = Queue::new(MemoryDriver::new());
    queue.enqueue_all(jobs).max_attempts(1).await.unwrap();
    drain(&queue, stack).await
}

async fn drain(queue: &Queue, stack: impl FnOnce(WorkerBuilder) -> WorkerBuilder) -> Watch {
    let watch = Watch::start();
    let ends = Arc::clone(&watch.ends);
    let builder = Worker::builder(queue)
        .register::<Work>()
        .concurrency(20)
        .retry(RetryPolicy::constant(Duration::ZERO))
        .state(watch.clone())
        .on_job_complete(move |m| ends.lock().unwrap().push((m.outcome, m.error.clone())));
    stack(builder).build().unwrap().drain().await.unwrap();
    watch
}

fn work(seconds: u64) -> Work {
    Work {
        seconds,
        answer: Answer::Done,
    }
}

fn dead(reason: DeadReason, error: &str) -> End {
    (JobOutcome::Dead(reason), Some(error.into()))
}

#[tokio::test(start_paused = true)]
async fn tower_timeout() {
    let jobs = [work(3), work(7)];
    let watch = run(jobs, |worker| worker.layer(TimeoutLayer::new(5 * SECOND))).await;
    let late = dead(DeadReason::Exhausted, "request timed out");
    assert_eq!(watch.ends(), [(JobOutcome::Succeeded, None), late]);
    assert_eq!(watch.since.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn tower_rate_limit() {
    let jobs = [(); 6].map(|()| work(0));
    let watch = run(jobs, |worker| {
        worker.layer(RateLimitLayer::new(2, 10 * SECOND))
    })
    .await;
    assert_eq!(watch.starts(), [0, 0, 10, 10, 20, 20]);
    assert_eq!(watch.succeeded(), 6);
}

#[tokio::test(start_paused = true)]
async fn tower_concurrency_limit() {
    let jobs = [(); 9].map(|()| work(1));
    let watch = run(jobs, |worker| worker.layer(ConcurrencyLimitLayer::new(3))).await;
    assert_eq!(watch.most.load(Ordering::SeqCst), 3);
    assert_eq!(watch.starts(), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
    assert_eq!(watch.succeeded(), 9);
}

#[tokio::test(start_paused = true)]
async fn tower_load_shed() {
    let jobs = [(); 5].map(|()| work(1));
    let watch = run(jobs, |worker| {
        worker
            .layer(LoadShedLayer::new())
            .layer(ConcurrencyLimitLayer::new(2))
    })
    .await;
    let shed = dead(DeadReason::Exhausted, "service overloaded");
    assert_eq!(watch.succeeded(), 2);
    assert_eq!(watch.ends().iter().filter(|end| **end == shed).count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_stack_that_tower_put_together() {
    let jobs = [work(1), work(1), work(9)];
    let stack = ServiceBuilder::new()
        .concurrency_limit(2)
        .rate_limit(100, SECOND)
        .timeout(5 * SECOND)
        .into_inner();
    let watch = run(jobs, |worker| worker.layer(stack)).await;
    assert_eq!(watch.most.load(Ordering::SeqCst), 2);
    let late = dead(DeadReason::Exhausted, "request timed out");
    let done = (JobOutcome::Succeeded, None);
    assert_eq!(watch.ends(), [done.clone(), done, late]);
}

#[tokio::test(start_paused = true)]
async fn the_first_layer_added_is_the_outermost() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |name: &'static str| {
        let order = Arc::clone(&order);
        from_fn(move |request: JobRequest, next: Next| {
            let order = Arc::clone(&order);
            async move {
                order.lock().unwrap().push(format!("{name} before"));
                let answer = next.run(request).await;
                order.lock().unwrap().push(format!("{name} after"));
                answer
            }
        })
    };
    run([work(0)], |worker| {
        worker.layer(note("first")).layer(note("second"))
    })
    .await;
    assert_eq!(
        *order.lock().unwrap(),
        [
            "first before",
            "second before",
            "second after",
            "first after"
        ],
    );
}

#[tokio::test(start_paused = true)]
async fn a_function_can_answer_in_place_of_the_handler() {
    let refuse = from_fn(|_: JobRequest, _: Next| async { Err(JobError::discard("not today")) });
    let watch = run([work(0)], |worker| worker.layer(refuse)).await;
    assert_eq!(
        watch.ends(),
        [(JobOutcome::Discarded, Some("not today".into()))]
    );
    assert!(watch.starts().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_handler_s_answer_survives_layers_that_know_only_boxed_errors() {
    let job = Work {
        seconds: 0,
        answer: Answer::Permanent,
    };
    let queue = Queue::new(MemoryDriver::new());
    queue.enqueue(job).max_attempts(9).await.unwrap();
    let watch = drain(&queue, |worker| {
        worker
            .layer(LoadShedLayer::new())
            .layer(TimeoutLayer::new(5 * SECOND))
            .layer(RateLimitLayer::new(100, SECOND))
            .layer(ConcurrencyLimitLayer::new(2))
    })
    .await;
    assert_eq!(watch.ends(), [dead(DeadReason::Permanent, "no such user")]);
}

/// Gives up on jobs that failed often enough. Written as one writes any tower layer; its errors are
/// handlers' answers.
#[derive(Clone)]
struct GiveUpAfter(u32);

struct GiveUp<S> {
    attempts: u32,
    inner: S,
}

impl<S> Layer<S> for GiveUpAfter {
    type Service = GiveUp<S>;

    fn layer(&self, inner: S) -> GiveUp<S> {
        GiveUp {
            attempts: self.0,
            inner,
        }
    }
}

impl<S> Service<JobRequest> for GiveUp<S>
where
    S: Service<JobRequest, Response = ()>,
    S::Error: Into<JobError>,
    S::Future: Send + 'static,
{
    type Response = ();
    type Error = JobError;
    type Future = BoxFuture<'static, JobResult>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<JobResult> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: JobRequest) -> Self::Future {
        let tired = request.attempt() >= self.attempts;
        let answer = self.inner.call(request);
        Box::pin(async move {
            match answer.await.map_err(Into::into) {
                Err(error) if tired && error.kind() == JobErrorKind::Retry => {
                    Err(JobError::permanent(format!("gave up: {error}")))
                }
                answer => answer,
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_layer_of_one_s_own_may_answer_with_job_errors() {
    let queue = Queue::new(MemoryDriver::new());
    let job = Work {
        seconds: 0,
        answer: Answer::Fail,
    };
    queue.enqueue(job).max_attempts(9).await.unwrap();
    let watch = drain(&queue, |worker| {
        // A tower layer outside sees a boxed error; the answer still gets through.
        worker
            .layer(TimeoutLayer::new(5 * SECOND))
            .layer(GiveUpAfter(3))
    })
    .await;
    let retried = (
        JobOutcome::Retried(Duration::ZERO),
        Some("no luck".to_owned()),
    );
    let gave_up = dead(DeadReason::Permanent, "gave up: no luck");
    assert_eq!(watch.ends(), [retried.clone(), retried, gave_up]);
}
