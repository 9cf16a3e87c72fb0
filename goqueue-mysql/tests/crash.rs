//! Worker processes that are killed, and a server that is: no job is lost.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Mutex,
    time::Duration,
};

use goqueue_core::{
    Config, Handler, Job, JobContext, JobResult, Queue, Worker,
    driver::{Driver, QueueStats},
};
use goqueue_mysql::MysqlDriver;
use serde::{Deserialize, Serialize};
use support::*;
use tokio::time::{Instant, sleep};

/// Fewer where it is the second server that is tested.
fn jobs() -> u32 {
    match Kind::of_this_binary() {
        Kind::MariaDb => 50_000,
        Kind::Mysql => 10_000,
    }
}

const WORKERS: usize = 4;
/// Where a worker process finds its database and writes down what it has run.
const URL: &str = "GOQUEUE_TEST_CRASH_URL";
const RECORD: &str = "GOQUEUE_TEST_CRASH_RECORD";

#[derive(Serialize, Deserialize)]
struct Count {
    n: u32,
}

impl Job for Count {
    const NAME: &'static str = "count";
    const QUEUE: &'static str = "q";
}

struct Record(Mutex<std::fs::File>);

impl Handler for Count {
    async fn handle(self, cx: JobContext) -> JobResult {
        let record = cx.state::<Record>()?;
        // What is written outlives the process: only the machine itself could lose it.
        record.0.lock().unwrap().write_all(&self.n.to_le_bytes())?;
        Ok(())
    }
}

/// A worker that goes on until it is killed, or until its parent is gone.
async fn work(url: &str, record: &Path) {
    let config = Config::default().with_driver(url);
    let driver = loop {
        match MysqlDriver::connect(&config).await {
            Ok(driver) => break driver,
            Err(error) if error.is_transient() => sleep(Duration::from_millis(100)).await,
            Err(error) => panic!("{error}"),
        }
    };
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(record)
        .unwrap();
    let worker = Worker::builder(&Queue::new(driver))
        .only_registered()
        .register::<Count>()
        .state(Record(Mutex::new(file)))
        .concurrency(20)
        .lease(Duration::from_secs(2))
        .build()
        .unwrap();
    worker
        .run_until(async {
            let parent_is_gone = || std::io::read_to_string(std::io::stdin());
            let _ = tokio::task::spawn_blocking(parent_is_gone).await;
        })
        .await
        .unwrap();
}

fn start(url: &str, record: &Path) -> Child {
    // The first part is the name of the binary, which its tests do not have.
    let (_, module) = module_path!().split_once("::").unwrap_or_default();
    let test = [module, "a_worker_process_runs_a_job"].join("::");
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test.trim_start_matches(':'), "--nocapture"])
        .env(URL, url)
        .env(RECORD, record)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn numbers(record: &Path) -> Vec<u32> {
    let bytes = std::fs::read(record).unwrap_or_default();
    // A number that was cut off by a kill belongs to a run that never ended.
    bytes
        .chunks_exact(4)
        .map(|n| u32::from_le_bytes(n.try_into().unwrap()))
        .collect()
}

fn record(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("gq-crash-{}-{name}", std::process::id()))
}

/// Also what the other test starts as its workers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_process_runs_a_job() {
    if let (Ok(url), Some(record)) = (std::env::var(URL), std::env::var_os(RECORD)) {
        return work(&url, Path::new(&record)).await;
    }
    let database = Database::new().await;
    let driver = database.driver().await;
    Queue::new(driver.clone())
        .enqueue(Count { n: 7 })
        .await
        .unwrap();
    let record = record("one");
    let mut child = start(&database.url(), &record);
    let patience = Instant::now() + Duration::from_secs(20);
    while stats(&driver).await != QueueStats::default() {
        assert!(Instant::now() < patience, "the job is not run");
        sleep(Duration::from_millis(50)).await;
    }
    // Without its parent it ends by itself.
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(numbers(&record), [7]);
    std::fs::remove_file(record).unwrap();
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_workers_and_server_are_killed() {
    let mut server = Server::start().await;
    let database = Database::on(&server.url()).await;
    let queue = Queue::new(database.driver().await);
    for thousand in 0..jobs() / 1000 {
        let jobs = (0..1000).map(|n| Count {
            n: thousand * 1000 + n,
        });
        queue.enqueue_all(jobs).max_attempts(1000).await.unwrap();
    }
    let mut records = Vec::new();
    let mut start_one = |url: &str| {
        let record = record(&records.len().to_string());
        let child = start(url, &record);
        records.push(record);
        child
    };
    let mut workers: Vec<Child> = (0..WORKERS).map(|_| start_one(&database.url())).collect();
    let mut random = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap()
        .subsec_nanos();
    let mut next = |below: u32| {
        // Numerical Recipes' generator; its low bits are poor.
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) % below
    };
    let driver = database.driver().await;
    let (since, mut kills, mut restarts) = (Instant::now(), 0, 0);
    loop {
        sleep(Duration::from_millis(u64::from(300 + next(700)))).await;
        let left = driver.inspect().unwrap().stats(&queue_name()).await;
        if matches!(&left, Ok(left) if left.ready + left.scheduled + left.running == 0) {
            break;
        }
        assert!(
            since.elapsed() < Duration::from_secs(300),
            "not done: {left:?}"
        );
        let victim = next(WORKERS as u32) as usize;
        workers[victim].kill().unwrap();
        workers[victim].wait().unwrap();
        workers[victim] = start_one(&database.url());
        kills += 1;
        if restarts < 2 && kills >= 3 * (restarts + 1) {
            server.kill();
            sleep(Duration::from_millis(500)).await;
            server.resume().await;
            restarts += 1;
        }
    }
    for worker in &mut workers {
        worker.kill().unwrap();
        worker.wait().unwrap();
    }
    let mut seen = vec![0_u32; jobs() as usize];
    for record in &records {
        for n in numbers(record) {
            seen[n as usize] += 1;
        }
        let _ = std::fs::remove_file(record);
    }
    let runs: u32 = seen.iter().sum();
    println!(
        "{runs} runs of {} jobs, {kills} workers and {restarts} servers killed",
        jobs()
    );
    assert_eq!(
        seen.iter().filter(|times| **times == 0).count(),
        0,
        "jobs are lost"
    );
    assert_eq!(restarts, 2, "it was over too soon");
    assert!(kills >= 6, "{kills}");
    assert_eq!(stats(&driver).await, QueueStats::default());
    database.is_empty().await;
}

fn queue_name() -> goqueue_core::QueueName {
    queue("q")
}
