//! Jobs that fail, and the workers that run them.

use std::time::Duration;

use goqueue::{
    QueueName,
    driver::{Lease, NewJob, QueueShare, ReserveRequest, Settlement, Verdict},
    prelude::*,
};
use serde::{Deserialize, Serialize};

/// Whether the post office takes letters.
#[derive(Clone, Copy)]
pub(super) struct PostOffice {
    pub(super) is_open: bool,
}

#[derive(Debug, Serialize, Deserialize, Job)]
#[job(
    name = "mail.welcome",
    queue = "mail",
    max_attempts = 2,
    initial_delay = "1ms"
)]
pub(super) struct Welcome {
    pub(super) user_id: u64,
}

impl Handler for Welcome {
    async fn handle(self, cx: JobContext) -> JobResult {
        if cx.state::<PostOffice>()?.is_open {
            return Ok(());
        }
        Err("the post office is closed: connection refused".into())
    }
}

#[derive(Debug, Serialize, Deserialize, Job)]
#[job(
    name = "mail.receipt",
    queue = "mail",
    max_attempts = 2,
    initial_delay = "1ms"
)]
pub(super) struct Receipt {
    pub(super) order: String,
}

impl Handler for Receipt {
    async fn handle(self, _cx: JobContext) -> JobResult {
        if self.order.is_empty() {
            return Err(JobError::permanent("the order has no number"));
        }
        Ok(())
    }
}

#[derive(Debug, Serialize, Deserialize, Job)]
#[job(name = "mail.patient", queue = "mail", initial_delay = "10m")]
struct Patient;

impl Handler for Patient {
    async fn handle(self, _cx: JobContext) -> JobResult {
        Err("later".into())
    }
}

/// A job that failed and waits for its retry.
pub(super) async fn fail_once(queue: &Queue) {
    queue.enqueue(Patient).await.unwrap();
    let worker = Worker::builder(queue)
        .state(PostOffice { is_open: true })
        .queue("mail", 1);
    worker.build().unwrap().drain().await.unwrap();
}

pub(super) fn mail() -> QueueName {
    QueueName::new("mail").unwrap()
}

/// Works until nothing of the queue `mail` is left but dead letters.
pub(super) async fn work(queue: &Queue, is_open: bool) {
    loop {
        let worker = Worker::builder(queue)
            .state(PostOffice { is_open })
            .queue("mail", 1)
            .build()
            .unwrap();
        worker.drain().await.unwrap();
        let stats = queue.inspect().unwrap().stats(&mail()).await.unwrap();
        if stats.ready + stats.scheduled + stats.running == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Three letters that died of two causes: two welcomes of a closed post office, and a receipt.
pub(super) async fn three_die(queue: &Queue) {
    for user_id in [1, 2] {
        let job = queue.enqueue(Welcome { user_id });
        job.header("request", "r-17").await.unwrap();
    }
    let order = String::new();
    queue.enqueue(Receipt { order }).await.unwrap();
    work(queue, false).await;
}

/// Dead letters by the thousand, without a worker.
pub(super) async fn many_die(queue: &Queue, count: usize) {
    let driver = queue.driver();
    let most = driver.capabilities().batch.jobs;
    let mut left = count;
    while left > 0 {
        let some = left.min(most);
        let jobs: Vec<NewJob> = (0..some)
            .map(|n| queue.enqueue_raw("mail.welcome", serde_json::json!({ "user_id": n })))
            .map(|job| job.queue("mail").into_new_job().unwrap())
            .collect();
        driver.push(jobs).await.unwrap();
        let mut leases: Vec<Lease> = Vec::new();
        while leases.len() < some {
            let request = ReserveRequest {
                queues: vec![QueueShare {
                    queue: mail(),
                    share: some,
                }],
                max: some,
                lease: Duration::from_secs(60),
                wait: Duration::ZERO,
                cancel: Default::default(),
            };
            let taken = driver.reserve(request).await.unwrap();
            leases.extend(taken.into_iter().map(|job| job.lease));
        }
        let verdict = || Verdict::Dead {
            reason: goqueue::dead_letter::DeadReason::Exhausted,
            error: "the post office is closed".into(),
        };
        let settlements = leases.into_iter().map(|lease| Settlement {
            lease,
            verdict: verdict(),
        });
        driver.settle(settlements.collect()).await.unwrap();
        left -= some;
    }
}
