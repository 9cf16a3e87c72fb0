//! A minute in which worker processes are killed at random.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{
    collections::{HashMap, HashSet},
    fs::{File, OpenOptions},
    io::Write,
    path::Path,
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::Duration,
};

use goqueue_core::{
    Handler, Job, JobContext, JobId, JobResult, Queue, RetryPolicy, Worker, driver::Inspect,
};
use serde::{Deserialize, Serialize};
use support::*;
use tokio::time::{Instant, sleep};

const JOBS: u32 = 50_000;
const WORKERS: usize = 4;
const KILLING: Duration = Duration::from_secs(60);

const URL: &str = "GOQUEUE_TEST_CRASH_URL";
const RECORD: &str = "GOQUEUE_TEST_CRASH_RECORD";

static RECORDS: OnceLock<File> = OnceLock::new();

#[derive(Serialize, Deserialize)]
struct Effect {
    number: u32,
}

impl Job for Effect {
    const NAME: &'static str = "effect";
    const QUEUE: &'static str = "crash";
}

impl Handler for Effect {
    async fn handle(self, cx: JobContext) -> JobResult {
        // One write of one line: it is there whole or not at all.
        let line = format!("{} {} {}\n", self.number, cx.id(), cx.attempt());
        RECORDS.get().unwrap().write_all(line.as_bytes())?;
        sleep(Duration::from_millis(2)).await;
        Ok(())
    }
}

async fn work(url: &str, record: &str) {
    std::thread::spawn(|| {
        // The parent is gone when this ends.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(1);
    });
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(record)
        .unwrap();
    RECORDS.set(file).unwrap();
    let queue = Queue::new(connect(url).await);
    let worker = Worker::builder(&queue)
        .only_registered()
        .register::<Effect>()
        .concurrency(20)
        .lease(Duration::from_secs(1))
        .retry(RetryPolicy::constant(Duration::from_millis(10)).max_attempts(1_000));
    worker.build().unwrap().run().await.unwrap();
}

fn start(url: &str, record: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "workers_killed_for_a_minute_lose_nothing",
            "--nocapture",
        ])
        .env(URL, url)
        .env(RECORD, record)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn random(below: usize) -> usize {
    JobId::new().as_uuid().as_u64_pair().1 as usize % below
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_killed_for_a_minute_lose_nothing() {
    if let (Ok(url), Ok(record)) = (std::env::var(URL), std::env::var(RECORD)) {
        return work(&url, &record).await;
    }
    let server = Server::with(&["--appendfsync", "everysec"]).await;
    let record = |n: usize| server.dir().join(format!("record-{n}"));
    let mut workers: Vec<_> = (0..WORKERS)
        .map(|n| start(&server.url(), &record(n)))
        .collect();
    let queue_handle = Queue::new(connect(&server.url()).await);
    let producers = (0..2).map(|producer| {
        let queue = queue_handle.clone();
        tokio::spawn(async move {
            for batch in 0..JOBS / 100 {
                if batch % 2 == producer {
                    let jobs = (0..100).map(|n| Effect {
                        number: batch * 100 + n,
                    });
                    queue.enqueue_all(jobs).max_attempts(1_000).await.unwrap();
                    sleep(KILLING / (JOBS / 200) * 9 / 10).await;
                }
            }
        })
    });
    let producers: Vec<_> = producers.collect();

    let (until, mut kills) = (Instant::now() + KILLING, 0);
    while Instant::now() < until {
        sleep(Duration::from_millis(100 + random(400) as u64)).await;
        let victim = random(WORKERS);
        workers[victim].kill().unwrap();
        workers[victim].wait().unwrap();
        workers[victim] = start(&server.url(), &record(victim));
        kills += 1;
    }
    for producer in producers {
        producer.await.unwrap();
    }
    let driver = connect(&server.url()).await;
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        let stats = driver.stats(&queue("crash")).await.unwrap();
        if stats.ready + stats.scheduled + stats.running == 0 {
            assert_eq!(stats.dead, 0);
            break;
        }
        assert!(Instant::now() < patience, "{stats:?}");
        sleep(Duration::from_millis(200)).await;
    }
    for worker in &mut workers {
        worker.kill().unwrap();
        worker.wait().unwrap();
    }

    let (mut runs, mut ids) = (HashMap::<u32, HashSet<u32>>::new(), HashMap::new());
    for n in 0..WORKERS {
        for line in std::fs::read_to_string(record(n)).unwrap().lines() {
            let mut parts = line.split(' ');
            let mut part = || parts.next().unwrap();
            let number: u32 = part().parse().unwrap();
            let id = part().to_owned();
            let attempt: u32 = part().parse().unwrap();
            assert_eq!(
                ids.entry(number).or_insert_with(|| id.clone()),
                &id,
                "one job, one id"
            );
            assert!(
                runs.entry(number).or_default().insert(attempt),
                "job {number} was run twice as attempt {attempt}"
            );
        }
    }
    let again = runs.values().filter(|attempts| attempts.len() > 1).count();
    let most = runs.values().flatten().max().unwrap();
    println!(
        "{kills} kills, {} jobs run, {again} of them more than once, up to attempt {most}",
        runs.len()
    );
    let lost: Vec<_> = (0..JOBS)
        .filter(|number| !runs.contains_key(number))
        .collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    assert!(kills > 30 && again > 0, "the workers were not disturbed");
    assert_eq!(server.keys().await, ["goqueue:queues"]);
}
