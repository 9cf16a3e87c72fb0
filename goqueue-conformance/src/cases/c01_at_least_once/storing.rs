//! What is stored comes back.

use std::time::Duration;

use goqueue_core::driver::Verdict;

use crate::{check::promise, harness::Harness, tools::Bench};

pub(crate) async fn a_stored_job_is_there_for_everyone(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let (producer, worker) = (b.client(), b.another().await);
    let id = producer.put("hello").await;
    let job = worker.take_one().await;
    promise!(job.lease.id == id, "the reserved job is the stored one, {id}"; "{job:?}");
    promise!(job.attempt == 1, "the first delivery is attempt 1"; "attempt {}", job.attempt);
    promise!(
        job.lease.queue == worker.queue,
        "its lease names the queue it came from";
        "{:?}",
        job.lease
    );
    worker.ack(&job.lease).await;
    producer.finds_nothing("the only job is done").await;
    producer.is_over(0).await;
}

pub(crate) async fn bodies_come_back_byte_equal(h: &dyn Harness) {
    let b = Bench::new(h).await;
    let client = b.client();
    let every_byte: Vec<u8> = (0..=255).collect();
    let large = every_byte.repeat(128);
    let bodies = [b"{}".to_vec(), "ünï\u{0}code ☂".into(), every_byte, large];
    for body in bodies {
        client.store(client.job(body.clone())).await;
        let first = client.take_one().await;
        client.retry(&first.lease, Duration::ZERO).await;
        let second = client.take_one().await;
        for job in [&first, &second] {
            let (size, attempt) = (body.len(), job.attempt);
            promise!(
                job.body == body,
                "delivery {attempt} of a body of {size} bytes is byte-equal";
                "{} bytes came back",
                job.body.len()
            );
        }
        client.ack(&second.lease).await;
    }
}

pub(crate) async fn a_retried_job_comes_back(h: &dyn Harness) {
    comes_back(h, |delay| Verdict::Retry {
        delay,
        error: "not yet".into(),
    })
    .await;
}

pub(crate) async fn a_released_job_comes_back(h: &dyn Harness) {
    comes_back(h, |delay| Verdict::Release { delay }).await;
}

async fn comes_back(h: &dyn Harness, verdict: impl Fn(Duration) -> Verdict) {
    let b = Bench::new(h).await;
    let client = b.client();
    for delay in [Duration::ZERO, b.lease()] {
        let id = client.put("again").await;
        let job = client.take_one().await;
        client.end(&job.lease, verdict(delay)).await;
        b.elapse(delay).await;
        let again = client.take_one().await;
        promise!(
            again.lease.id == id && again.body == job.body,
            "the job comes back after {delay:?}";
            "{again:?} came"
        );
        client.ack(&again.lease).await;
    }
    client.is_over(0).await;
}
