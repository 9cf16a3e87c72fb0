//! What a job costs, counted at the HTTP level, and what an idle worker does.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use goqueue_core::{
    Handler, Job, JobContext, JobResult, Queue, Worker,
    driver::{Driver, Inspect},
};
use serde::{Deserialize, Serialize};
use support::*;
use tokio::time::{Instant, sleep, timeout};

#[derive(Serialize, Deserialize)]
struct Quick {
    number: usize,
    text: String,
}

impl Job for Quick {
    const NAME: &'static str = "quick";
    const QUEUE: &'static str = "q";
}

impl Handler for Quick {
    async fn handle(self, cx: JobContext) -> JobResult {
        cx.state::<Count>()?.0.fetch_add(1, Ordering::SeqCst);
        sleep(Duration::from_millis(20)).await;
        Ok(())
    }
}

#[derive(Clone, Default)]
struct Count(Arc<AtomicUsize>);

fn worker(queue: &Queue, count: &Count, concurrency: usize) -> Worker {
    Worker::builder(queue)
        .only_registered()
        .register::<Quick>()
        .queue("q", 1)
        .state(count.clone())
        .concurrency(concurrency)
        .lease(Duration::from_secs(60))
        .build()
        .unwrap()
}

fn jobs(count: usize) -> impl Iterator<Item = Quick> {
    let text = "x".repeat(70);
    (0..count).map(move |number| Quick {
        number,
        text: text.clone(),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_a_full_queue_costs_a_third_of_a_call() {
    const JOBS: usize = 2_000;
    let url = MINISTACK.url(Kind::Standard);
    let proxy = Proxy::before(&url).await;
    let queue = Queue::new(connect(&proxy.through(&url)).await);
    queue.enqueue_all(jobs(1)).await.unwrap();
    proxy.reset();
    queue.enqueue_all(jobs(JOBS - 1)).await.unwrap();
    let count = Count::default();
    let worker = worker(&queue, &count, 20);
    let stop = async {
        while count.0.load(Ordering::SeqCst) < JOBS {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let report = timeout(Duration::from_secs(200), worker.run_until(stop)).await;
    assert_eq!(report.unwrap().unwrap().finished, JOBS as u64);
    let calls = proxy.calls();
    let each = calls.values().sum::<usize>() as f64 / JOBS as f64;
    println!("{each:.3} calls a job: {calls:?}");
    assert!(each <= 0.35, "{each:.3} calls a job: {calls:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_the_long_poll_and_leaves_nothing_hidden() {
    let url = MINISTACK.url(Kind::Standard);
    let queue = Queue::new(connect(&url).await);
    let count = Count::default();
    let worker = worker(&queue, &count, 4);
    let (send, stop) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(worker.run_until(async { stop.await.unwrap() }));
    sleep(Duration::from_secs(2)).await;
    let began = Instant::now();
    send.send(()).unwrap();
    running.await.unwrap().unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    // The poll is still under way at the service; what it brings is given back.
    let other = connect(&url).await;
    other.push(vec![job("q", "after")]).await.unwrap();
    let job = next(&other, "q", Duration::from_secs(15)).await;
    assert_eq!(job.attempt, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn receives_ask_for_no_more_than_there_are_slots() {
    let url = MINISTACK.url(Kind::Standard);
    let driver = connect(&url).await;
    let all = (0..25).map(|n| job("q", format!("{n}"))).collect();
    driver.push(all).await.unwrap();
    for (max, hidden) in [(3, 3), (1, 4), (12, 16)] {
        assert_eq!(take(&driver, "q", max).await.len(), max);
        let stats = driver.stats(&queue("q")).await.unwrap();
        assert_eq!((stats.running, stats.ready), (hidden, 25 - hidden));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_worker_makes_three_calls_a_minute() {
    let url = MINISTACK.url(Kind::Standard);
    let proxy = Proxy::before(&url).await;
    let queue = Queue::new(connect(&proxy.through(&url)).await);
    queue.enqueue_all(jobs(1)).await.unwrap();
    let count = Count::default();
    let worker = worker(&queue, &count, 4);
    let running = tokio::spawn(worker.run_until(sleep(Duration::from_secs(28))));
    while count.0.load(Ordering::SeqCst) == 0 {
        sleep(Duration::from_millis(50)).await;
    }
    sleep(Duration::from_secs(1)).await;
    proxy.reset();
    running.await.unwrap().unwrap();
    let calls = proxy.calls();
    let receives = calls.get("ReceiveMessage").copied().unwrap_or_default();
    assert!(receives <= 3, "in half a minute: {calls:?}");
}

/// One in twenty answers is lost or a 500 takes its place.
#[tokio::test(flavor = "multi_thread")]
async fn five_thousand_jobs_survive_a_line_that_loses_answers() {
    const JOBS: usize = 5_000;
    let url = MINISTACK.url(Kind::Standard);
    let proxy = Proxy::before(&url).await;
    let queue = Queue::new(connect(&proxy.through(&url)).await);
    queue.enqueue_all(jobs(1)).await.unwrap();
    proxy.break_one_in(20);
    // What is not known to be stored is sent again, as a caller would.
    let mut left: Vec<usize> = (1..JOBS).collect();
    let mut rounds = 0;
    while !left.is_empty() {
        let text = "x".repeat(70);
        let all = left.iter().map(|number| Quick {
            number: *number,
            text: text.clone(),
        });
        left = match queue.enqueue_all(all).await {
            Ok(_) => Vec::new(),
            Err(goqueue_core::Error::PartialBatch(failed)) => {
                let is_transient = |answer: &goqueue_core::Result<_>| {
                    answer
                        .as_ref()
                        .err()
                        .is_none_or(goqueue_core::Error::is_transient)
                };
                assert!(failed.outcomes().iter().all(is_transient), "{failed}");
                failed.failed().map(|place| left[place]).collect()
            }
            Err(error) => panic!("{error}"),
        };
        rounds += 1;
        assert!(rounds < 200, "{} jobs are still not stored", left.len());
    }
    let seen = Seen::default();
    let worker = Worker::builder(&queue)
        .only_registered()
        .register::<Numbered>()
        .queue("q", 1)
        .state(seen.clone())
        .concurrency(50)
        .lease(Duration::from_secs(10));
    let stop = async {
        while seen.0.lock().unwrap().len() < JOBS {
            sleep(Duration::from_millis(50)).await;
        }
    };
    let running = worker.build().unwrap().run_until(stop);
    let report = timeout(Duration::from_secs(240), running).await;
    let seen = seen.0.lock().unwrap();
    let (distinct, runs) = (seen.len(), seen.values().sum::<usize>());
    println!("{distinct} jobs in {runs} runs; {rounds} rounds of enqueueing; {report:?}");
    assert_eq!(distinct, JOBS, "none is lost");
}

#[derive(Clone, Default)]
struct Seen(Arc<std::sync::Mutex<std::collections::HashMap<usize, usize>>>);

#[derive(Serialize, Deserialize)]
struct Numbered {
    number: usize,
}

impl Job for Numbered {
    const NAME: &'static str = Quick::NAME;
    const QUEUE: &'static str = Quick::QUEUE;
}

impl Handler for Numbered {
    async fn handle(self, cx: JobContext) -> JobResult {
        let seen = cx.state::<Seen>()?;
        *seen.0.lock().unwrap().entry(self.number).or_default() += 1;
        Ok(())
    }
}
