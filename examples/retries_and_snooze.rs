//! Every answer a handler can give, and what becomes of the job.
//!
//! ```text
//! cargo run -p goqueue-examples --example retries_and_snooze
//! ```

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use goqueue::prelude::*;
use serde::{Deserialize, Serialize};
use tokio::{sync::Notify, time::sleep};

const ANSWERS: [Answer; 8] = [
    Answer::Done,
    Answer::Error,
    Answer::RetryIn,
    Answer::Permanent,
    Answer::Snooze,
    Answer::Discard,
    Answer::Panic,
    Answer::TooSlow,
];

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Answer {
    Done,
    Error,
    RetryIn,
    Permanent,
    Snooze,
    Discard,
    Panic,
    TooSlow,
}

#[derive(Debug, Serialize, Deserialize, Job)]
#[job(
    name = "demo.answer",
    max_attempts = 3,
    timeout = "100ms",
    initial_delay = "50ms"
)]
struct Demo {
    answer: Answer,
}

impl Handler for Demo {
    async fn handle(self, cx: JobContext) -> JobResult {
        match self.answer {
            Answer::Done => Ok(()),
            // Any error will do: `?` turns it into an answer.
            Answer::Error => Err("the server said 500".into()),
            Answer::RetryIn => {
                let delay = Duration::from_millis(120);
                Err(JobError::retry_in(
                    delay,
                    "the server said 503, Retry-After",
                ))
            }
            Answer::Permanent => Err(JobError::permanent("the server said 404")),
            // A snoozed run spends no attempt: a job may wait for something like this for ever.
            Answer::Snooze if cx.enqueued_at().elapsed()? < Duration::from_millis(400) => {
                Err(JobError::snooze(Duration::from_millis(250)))
            }
            Answer::Snooze => Ok(()),
            Answer::Discard => Err(JobError::discard("the account was closed")),
            Answer::Panic => panic!("index out of bounds"),
            Answer::TooSlow => {
                sleep(Duration::from_secs(60)).await;
                Ok(())
            }
        }
    }
}

#[tokio::main]
async fn main() -> goqueue::Result<()> {
    print_schedule();

    let queue = Queue::connect_url("memory://").await?;
    let enqueued = queue
        .enqueue_all(ANSWERS.map(|answer| Demo { answer }))
        .await?;

    let runs = Arc::new(Mutex::new(HashMap::<JobId, Vec<JobMetrics>>::new()));
    let all_ended = Arc::new(Notify::new());
    let worker = {
        let (runs, all_ended) = (Arc::clone(&runs), Arc::clone(&all_ended));
        Worker::builder(&queue)
            .on_job_complete(move |run| {
                let mut runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
                runs.entry(run.id).or_default().push(run.clone());
                let last_runs = runs.values().filter_map(|runs| runs.last());
                let ended = last_runs.filter(|run| {
                    !matches!(run.outcome, JobOutcome::Retried(_) | JobOutcome::Snoozed(_))
                });
                if ended.count() == ANSWERS.len() {
                    all_ended.notify_one();
                }
            })
            .build()?
    };
    // The worker tells of the panic in its own way.
    std::panic::set_hook(Box::new(|_| {}));
    worker
        .run_until(async move { all_ended.notified().await })
        .await?;

    println!("\n{:<11}{:<9}{:<20}ERROR", "ANSWER", "ATTEMPT", "OUTCOME");
    let runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
    for (answer, job) in ANSWERS.iter().zip(enqueued) {
        for run in &runs[&job.id()] {
            let outcome = match run.outcome {
                JobOutcome::Retried(delay) => format!("again in {delay:?}"),
                JobOutcome::Snoozed(delay) => format!("snoozed for {delay:?}"),
                JobOutcome::Dead(reason) => format!("dead: {reason}"),
                other => other.to_string(),
            };
            let error = run.error.as_deref().unwrap_or_default();
            let answer = format!("{answer:?}");
            let line = format!("{answer:<11}{:<9}{outcome:<20}{error}", run.attempt);
            println!("{}", line.trim_end());
        }
    }
    Ok(())
}

/// The schedule depends on nothing but the policy, the job and the attempt, so it can be told in
/// advance, and is the same on every backend.
fn print_schedule() {
    let (job, second) = (JobId::new(), Duration::from_secs(1));
    let policies = [
        ("exponential(2s)", RetryPolicy::exponential(2 * second)),
        (
            ".max_delay(10s)",
            RetryPolicy::exponential(2 * second).max_delay(10 * second),
        ),
        (
            ".multiplier(3.0)",
            RetryPolicy::exponential(2 * second).multiplier(3.0),
        ),
        (
            ".jitter(0.5)",
            RetryPolicy::exponential(2 * second).jitter(0.5),
        ),
        ("constant(5s)", RetryPolicy::constant(5 * second)),
    ];
    println!("{:<18}DELAY AFTER ATTEMPT 1, 2, 3, …", "POLICY");
    for (name, policy) in policies {
        let delays = (1..=6).map(|attempt| format!("{:?}", policy.delay_after(attempt, job)));
        println!("{name:<18}{}", delays.collect::<Vec<_>>().join("  "));
    }
}
