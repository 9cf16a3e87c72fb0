//! A worker finds the job types that were derived.

#![cfg(feature = "memory")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::sync::{Arc, Mutex};

use goqueue::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn sorted(&self) -> Vec<String> {
        let mut lines = self.0.lock().unwrap().clone();
        lines.sort_unstable();
        lines
    }
}

#[derive(Serialize, Deserialize, Job)]
#[job(name = "mail.welcome", queue = "mail")]
struct WelcomeMail {
    user_id: u64,
}

impl Handler for WelcomeMail {
    async fn handle(self, cx: JobContext) -> JobResult {
        cx.state::<Log>()?
            .add(format!("welcome {} from {}", self.user_id, cx.queue()));
        Ok(())
    }
}

#[derive(Serialize, Deserialize, Job)]
enum Report {
    Daily,
    Monthly { month: u8 },
}

impl Handler for Report {
    async fn handle(self, cx: JobContext) -> JobResult {
        let what = match self {
            Report::Daily => "daily".to_owned(),
            Report::Monthly { month } => format!("month {month}"),
        };
        cx.state::<Log>()?
            .add(format!("{what} from {}", cx.queue()));
        Ok(())
    }
}

/// Enqueued here, run elsewhere.
#[derive(Serialize, Deserialize, Job)]
#[job(name = "remote", register = false, max_attempts = 1)]
struct Remote;

#[derive(Serialize, Deserialize, Job)]
#[job(name = "batch", register = false)]
struct Batch<T> {
    items: Vec<T>,
}

impl Handler for Batch<String> {
    async fn handle(self, cx: JobContext) -> JobResult {
        cx.state::<Log>()?
            .add(format!("batch of {}", self.items.join(" and ")));
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn every_derived_type_is_found_and_its_queue_served() {
    let queue = Queue::connect_url("memory://").await.unwrap();
    queue.enqueue(WelcomeMail { user_id: 1 }).await.unwrap();
    queue.enqueue(Report::Daily).await.unwrap();
    queue
        .enqueue(Report::Monthly { month: 7 })
        .queue("mail")
        .await
        .unwrap();
    let log = Log::default();
    let worker = Worker::builder(&queue).state(log.clone()).build().unwrap();
    let report = worker.drain().await.unwrap();
    assert_eq!(report.finished, 3);
    assert_eq!(
        log.sorted(),
        [
            "daily from default",
            "month 7 from mail",
            "welcome 1 from mail"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_type_that_is_not_registered_is_not_run() {
    let queue = Queue::connect_url("memory://").await.unwrap();
    queue.enqueue(Remote).await.unwrap();
    let errors = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&errors);
    let worker = Worker::builder(&queue)
        .on_job_complete(move |run| noted.lock().unwrap().push(run.error.clone()))
        .build()
        .unwrap();
    worker.drain().await.unwrap();
    let known = "no handler for job `remote` in this worker; known: `mail.welcome`, `report`";
    assert_eq!(*errors.lock().unwrap(), [Some(known.to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn an_instance_of_a_generic_type_is_registered_by_hand() {
    let queue = Queue::connect_url("memory://").await.unwrap();
    queue
        .enqueue(Batch {
            items: vec!["a".to_owned(), "b".to_owned()],
        })
        .await
        .unwrap();
    let log = Log::default();
    let worker = Worker::builder(&queue)
        .register::<Batch<String>>()
        .state(log.clone());
    worker.build().unwrap().drain().await.unwrap();
    assert_eq!(log.sorted(), ["batch of a and b"]);
}

#[tokio::test(start_paused = true)]
async fn the_attributes_travel_with_the_job() {
    #[derive(Serialize, Deserialize, Job)]
    #[job(
        register = false,
        unique_key = "self.0",
        max_attempts = 2,
        timeout = "5s"
    )]
    struct Once(u32);

    let queue = Queue::connect_url("memory://").await.unwrap();
    let first = queue.enqueue(Once(1)).await.unwrap();
    assert_eq!(
        queue.enqueue(Once(1)).await.unwrap(),
        Enqueued::Duplicate(first.id())
    );
    assert!(!queue.enqueue(Once(2)).await.unwrap().is_duplicate());
}
