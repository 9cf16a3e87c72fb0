//! What happens to a worker's process: it is killed, and it stays small.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use goqueue_core::{Handler, Job, JobContext, JobResult, Queue, Worker, driver::Inspect};
use serde::{Deserialize, Serialize};
use support::*;
use tokio::time::{Instant, sleep};

const CHILD: &str = "GOQUEUE_TEST_SQS_WORKER";
const LEASE: Duration = Duration::from_secs(2);

#[derive(Serialize, Deserialize)]
struct Stuck;

impl Job for Stuck {
    const NAME: &'static str = "stuck";
    const QUEUE: &'static str = "q";
}

impl Handler for Stuck {
    async fn handle(self, cx: JobContext) -> JobResult {
        println!("\nstarted {}", cx.attempt());
        if cx.attempt() == 1 {
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

fn start(url: &str) -> (Child, std::sync::mpsc::Receiver<String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "--nocapture",
            "a_killed_worker_loses_nothing_but_an_attempt",
        ])
        .env(CHILD, url)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            if let Some(attempt) = line.strip_prefix("started ") {
                let _ = sender.send(attempt.to_owned());
            }
        }
    });
    (child, lines)
}

async fn work(url: &str) {
    std::thread::spawn(|| {
        // The parent is gone when this ends.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(1);
    });
    let queue = Queue::new(connect(url).await);
    let worker = Worker::builder(&queue)
        .only_registered()
        .register::<Stuck>()
        .queue("q", 1)
        .concurrency(1)
        .lease(LEASE);
    worker.build().unwrap().run().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_worker_loses_nothing_but_an_attempt() {
    if let Ok(url) = std::env::var(CHILD) {
        return work(&url).await;
    }
    for kind in [Kind::Standard, Kind::Fifo] {
        let url = MINISTACK.url(kind);
        let driver = connect(&url).await;
        Queue::new(driver.clone()).enqueue(Stuck).await.unwrap();
        let patience = Duration::from_secs(30);
        let (mut first, started) = start(&url);
        assert_eq!(started.recv_timeout(patience).unwrap(), "1");
        first.kill().unwrap();
        first.wait().unwrap();
        let (mut second, started) = start(&url);
        assert_eq!(started.recv_timeout(patience).unwrap(), "2");
        let until = Instant::now() + patience;
        loop {
            let stats = driver.stats(&queue("q")).await.unwrap();
            if stats.ready + stats.scheduled + stats.running + stats.dead == 0 {
                break;
            }
            assert!(Instant::now() < until, "{stats:?}");
            sleep(Duration::from_millis(100)).await;
        }
        second.kill().unwrap();
        second.wait().unwrap();
        assert!(started.try_recv().is_err(), "two runs in all");
    }
}

#[derive(Serialize, Deserialize)]
struct Small(String);

impl Job for Small {
    const NAME: &'static str = "small";
    const QUEUE: &'static str = "memory";
}

#[derive(Clone, Default)]
struct Count(Arc<AtomicUsize>);

impl Handler for Small {
    async fn handle(self, cx: JobContext) -> JobResult {
        cx.state::<Count>()?.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// Resident memory of a process, in bytes.
fn resident(id: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: usize = line
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    kib * 1024
}

const DRAIN: &str = "GOQUEUE_TEST_SQS_DRAIN";

async fn drain(url: &str) {
    let queue = Queue::new(connect(url).await);
    let count = Count::default();
    let worker = Worker::builder(&queue)
        .only_registered()
        .register::<Small>()
        .queue("memory", 1)
        .state(count.clone())
        .concurrency(100)
        .build()
        .unwrap();
    let watch = async {
        let id = std::process::id();
        let mut shown = 0;
        loop {
            let done = count.0.load(Ordering::SeqCst);
            if done >= shown + JOBS / 10 {
                shown = done;
                println!("\nresident {}", resident(id));
            }
            if done >= JOBS {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    worker.run_until(watch).await.unwrap();
}

const JOBS: usize = 5_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_of_a_hundred_slots_stays_small() {
    if let Ok(url) = std::env::var(DRAIN) {
        return drain(&url).await;
    }
    let url = MINISTACK.url(Kind::Standard);
    let queue = Queue::new(connect(&url).await);
    let jobs = (0..JOBS).map(|_| Small("x".repeat(98)));
    queue.enqueue_all(jobs).await.unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "--nocapture",
            "a_worker_of_a_hundred_slots_stays_small",
        ])
        .env(DRAIN, &url)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let sizes: Vec<usize> = text
        .lines()
        .filter_map(|line| line.strip_prefix("resident ")?.parse().ok())
        .collect();
    println!("resident bytes along {JOBS} jobs: {sizes:?}");
    assert!(sizes.len() > 5, "{text}");
    let (first, last) = (sizes[1], sizes[sizes.len() - 1]);
    assert!(last < 30 << 20, "{last} bytes");
    assert!(
        last < first + first / 10,
        "it grew from {first} to {last} bytes"
    );
}
