//! One program, four configuration files: what its handlers see is the same on every driver.

#![cfg(feature = "memory")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Arc, Mutex},
    time::Duration,
};

use goqueue::{JobMetrics, JobOutcome, prelude::*};
use serde::{Deserialize, Serialize};

use support::{sqs, unique, url};

/// The facade registers the drivers whose features are on; these are the others.
mod drivers {
    #[cfg(not(feature = "redis"))]
    inventory::submit! {
        goqueue_core::driver::DriverEntry::new(goqueue_redis::SCHEMES, goqueue_redis::connect)
    }

    #[cfg(not(feature = "mysql"))]
    inventory::submit! {
        goqueue_core::driver::DriverEntry::new(&["mysql"], goqueue_mysql::connect)
    }

    #[cfg(not(feature = "sqs"))]
    inventory::submit! {
        goqueue_core::driver::DriverEntry::new(goqueue_sqs::SCHEMES, goqueue_sqs::connect)
    }
}

const JOBS: u32 = 20;
/// The file that the program reads, as any program of goqueue does.
const FILE: &str = "GOQUEUE_CONFIG";
/// The test that is the program when there is such a file.
const PROGRAM: &str = "a_driver_that_nobody_knows_is_named";
/// What is before each line of the handlers' log.
const MARK: &str = "handler: ";
const PATIENCE: Duration = Duration::from_secs(90);

#[derive(Serialize, Deserialize, Job)]
#[job(name = "swap.order", max_attempts = 3)]
struct Order {
    number: u32,
    customer: String,
}

type Log = Arc<Mutex<Vec<String>>>;

impl Handler for Order {
    async fn handle(self, cx: JobContext) -> JobResult {
        let (number, attempt) = (self.number, cx.attempt());
        let header = cx.headers().get("shop").cloned().unwrap_or_default();
        let line = format!(
            "order {number:>2} of {} from {header}, attempt {attempt} of {}",
            self.customer,
            cx.max_attempts()
        );
        cx.state::<Log>()?.lock().unwrap().push(line);
        match number {
            3 | 12 if attempt == 1 => Err("the bank is away".into()),
            7 => Err("the bank is always away".into()),
            15 => Err(JobError::permanent("there is no such article")),
            18 if attempt == 1 => panic!("nobody thought of this"),
            _ => Ok(()),
        }
    }
}

/// Enqueues and processes the orders as the file says, and prints what the handlers saw.
async fn program() -> goqueue::Result<()> {
    let queue = Queue::connect(&Config::load()?).await?;
    let name = queue.config().worker.queues.keys().next().unwrap().clone();
    for number in 1..=JOBS {
        let customer = format!("customer {}", number % 3);
        let order = Order { number, customer };
        let enqueue = queue.enqueue(order).queue(name.as_str());
        enqueue.header("shop", "amsterdam").await?;
    }
    let log = Log::default();
    let (sender, mut ends) = tokio::sync::mpsc::unbounded_channel();
    let worker = Worker::builder(&queue)
        .state(Arc::clone(&log))
        .on_job_complete(move |run: &JobMetrics| {
            // What is left is a retry.
            if matches!(run.outcome, JobOutcome::Succeeded | JobOutcome::Dead(_)) {
                let _ = sender.send(format!("{} after {}", run.outcome.as_str(), run.attempt));
            }
        })
        .build()?;
    let mut outcomes = BTreeMap::<String, u32>::new();
    let all_ended = async {
        for _ in 0..JOBS {
            *outcomes.entry(ends.recv().await.unwrap()).or_default() += 1;
        }
    };
    worker.run_until(all_ended).await?;
    // No order across jobs is promised: SQS has none.
    let mut lines = std::mem::take(&mut *log.lock().unwrap());
    lines.extend(
        outcomes
            .iter()
            .map(|(end, times)| format!("{times:>2} {end}")),
    );
    lines.sort_unstable();
    for line in lines {
        println!("{MARK}{line}");
    }
    Ok(())
}

/// The same file but for the line that names the driver.
fn file(name: &str, driver: &str, queue: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.toml", unique()));
    let text = format!(
        "driver = \"{driver}\"\n\
         [worker]\nconcurrency = 4\nlease = \"60s\"\n\
         [worker.queues]\n{queue} = 1\n\
         [retry]\ninitial_delay = \"1s\"\n"
    );
    std::fs::write(&path, text).unwrap();
    path
}

/// Runs this binary as the program, with nothing but the file to tell it what to do.
async fn run(file: PathBuf) -> Output {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program
        .args(["--exact", PROGRAM, "--nocapture"])
        .env(FILE, &file)
        .env_remove("GOQUEUE_DRIVER");
    let running = tokio::task::spawn_blocking(move || program.output().unwrap());
    let output = tokio::time::timeout(PATIENCE, running).await;
    let output = output.expect("the program ends").unwrap();
    std::fs::remove_file(file).unwrap();
    output
}

async fn handler_log(file: PathBuf) -> Vec<String> {
    let output = run(file).await;
    let said = String::from_utf8(output.stdout).unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{error}");
    let lines = said.lines().filter_map(|line| line.split_once(MARK));
    lines.map(|(_, line)| line.to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_program_has_one_handler_log_whatever_its_file_says() {
    let queue = format!("swap-{}", unique());
    let drivers = [
        ("memory", "memory://".to_owned()),
        ("redis", url("GOQUEUE_TEST_REDIS_URL")),
        ("mysql", url("GOQUEUE_TEST_MYSQL_URL")),
        ("sqs", sqs(&queue[5..25], false)),
    ];
    let runs = drivers.iter().map(|(name, driver)| {
        let file = file(name, driver, &queue);
        async move { (*name, handler_log(file).await) }
    });
    let logs = futures_util::future::join_all(runs).await;

    // Sixteen at once, three at the second try, one three times in vain and one for good.
    let (_, expected) = &logs[0];
    println!("{}", expected.join("\n"));
    let ends: Vec<_> = expected[..4].iter().map(String::as_str).collect();
    let planned = [
        " 1 dead after 1",
        " 1 dead after 3",
        " 3 succeeded after 2",
        "15 succeeded after 1",
    ];
    assert_eq!(ends, planned);
    assert_eq!(
        expected[4],
        "order  1 of customer 1 from amsterdam, attempt 1 of 3"
    );
    assert_eq!(expected.len(), 4 + 20 + 3 + 2, "every delivery once");
    for (name, log) in &logs {
        println!("{name}: {} lines", log.len());
        assert_eq!(log, expected, "on {name}");
    }
}

/// Also the program itself, when a file is named.
#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_nobody_knows_is_named() {
    if std::env::var_os(FILE).is_some() {
        if let Err(error) = program().await {
            eprintln!("error: {error}");
            std::process::exit(1);
        }
        return;
    }
    let output = run(file("unknown", "rabbit://user:hunter2@localhost", "swap")).await;
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    let expected = "error: unknown driver `rabbit`: allowed are memory://, redis://, rediss://, \
                    redis+unix://, redis-cluster://, rediss-cluster://, mysql://, sqs://\n";
    assert!(said.ends_with(expected), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}
