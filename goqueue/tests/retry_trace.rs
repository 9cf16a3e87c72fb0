//! One retry trace everywhere: the same job, failing each time, on every driver side by side.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod support;

use std::{sync::Arc, time::Duration};

use goqueue::{JobMetrics, JobOutcome, driver::PageRequest, prelude::*};
use serde::{Deserialize, Serialize};

use support::{sqs, unique, url};

#[derive(Serialize, Deserialize, Job)]
#[job(name = "trace.hopeless", queue = "trace", register = false)]
struct Hopeless;

impl Handler for Hopeless {
    async fn handle(self, _: JobContext) -> JobResult {
        Err("it never works".into())
    }
}

/// One run: the attempt, and what was planned after it.
type Step = (u32, String);

fn config(text: &str) -> Config {
    Config::from_toml(text).unwrap()
}

/// Every driver, each on a store of its own.
async fn drivers() -> Vec<(&'static str, Queue)> {
    let unique = unique();
    let redis = format!(
        "driver = \"{}\"\n[redis]\nprefix = \"{unique}\"",
        url("GOQUEUE_TEST_REDIS_URL")
    );
    let redis = goqueue_redis::RedisDriver::connect(&config(&redis))
        .await
        .unwrap();
    let mysql = Config::default().with_driver(url("GOQUEUE_TEST_MYSQL_URL").as_str());
    let mysql = goqueue_mysql::MysqlDriver::connect(&mysql).await.unwrap();
    let mut all = vec![
        ("memory", Queue::connect_url("memory://").await.unwrap()),
        ("redis", Queue::new(redis)),
        ("mysql", Queue::new(mysql)),
    ];
    for (name, is_fifo) in [("sqs", false), ("sqs fifo", true)] {
        let sqs = Config::default().with_driver(sqs(&unique[8..], is_fifo).as_str());
        let sqs = goqueue_sqs::SqsDriver::connect(&sqs).await.unwrap();
        all.push((name, Queue::new(sqs)));
    }
    all
}

async fn trace(queue: &Queue, name: &str) -> Vec<Step> {
    let id = queue.enqueue(Hopeless).queue(name).await.unwrap().id();
    let (sender, mut metrics) = tokio::sync::mpsc::unbounded_channel();
    let worker = Worker::builder(queue)
        .only_registered()
        .register::<Hopeless>()
        .queue(name, 1)
        .retry(RetryPolicy::exponential(Duration::from_secs(1)).max_attempts(4))
        .on_job_complete(move |run: &JobMetrics| {
            if run.id == id {
                let _ = sender.send((run.attempt, run.outcome));
            }
        })
        .build()
        .unwrap();
    let mut steps = Vec::new();
    let seen = async {
        while let Some((attempt, outcome)) = metrics.recv().await {
            let planned = match outcome {
                JobOutcome::Retried(delay) => format!("again in {delay:?}"),
                JobOutcome::Dead(reason) => format!("dead: {reason}"),
                other => format!("{other:?}"),
            };
            steps.push((attempt, planned));
            if matches!(outcome, JobOutcome::Dead(_)) {
                return;
            }
        }
    };
    let patience = Duration::from_secs(90);
    tokio::time::timeout(patience, worker.run_until(seen))
        .await
        .expect("the job comes to its end")
        .unwrap();
    let driver = Arc::clone(queue.driver());
    let page = PageRequest::first(10);
    let name = goqueue::QueueName::new(name).unwrap();
    let letters = driver
        .inspect()
        .unwrap()
        .dead_letters(&name, page)
        .await
        .unwrap();
    let dead: Vec<_> = letters
        .items
        .iter()
        .map(|letter| (letter.id, letter.attempts))
        .collect();
    assert_eq!(dead, [(id, 4)], "one dead letter after four runs");
    steps
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_job_has_one_trace_on_every_driver() {
    let drivers = drivers().await;
    let queue = format!("trace-{}", goqueue::JobId::new());
    let traces = drivers.iter().map(|(name, driver)| {
        let queue = &queue;
        async move { (*name, trace(driver, queue).await) }
    });
    let traces = futures_util::future::join_all(traces).await;

    let expected: Vec<Step> = [
        (1, "again in 1s"),
        (2, "again in 2s"),
        (3, "again in 4s"),
        (4, "dead: exhausted"),
    ]
    .map(|(attempt, planned)| (attempt, planned.to_owned()))
    .to_vec();
    println!("{:8} | {:>7} | planned", "driver", "attempt");
    for (name, steps) in &traces {
        for (attempt, planned) in steps {
            println!("{name:8} | {attempt:>7} | {planned}");
        }
    }
    for (name, steps) in &traces {
        assert_eq!(*steps, expected, "on {name}");
    }
}
