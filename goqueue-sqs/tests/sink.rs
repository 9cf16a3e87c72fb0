//! SQS as the dead-letter sink of another driver.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{sync::Arc, time::Duration};

use goqueue_conformance::SpecDriver;
use goqueue_core::{
    Config, Handler, Job, JobContext, JobError, JobResult, Queue, Worker,
    dead_letter::DeadReason,
    driver::{Driver, Inspect, PageRequest, Selection},
};
use goqueue_sqs::SqsDeadLetters;
use serde::{Deserialize, Serialize};
use support::*;

#[derive(Serialize, Deserialize)]
struct Hopeless {
    number: u32,
}

impl Job for Hopeless {
    const NAME: &'static str = "hopeless";
    const QUEUE: &'static str = "elsewhere";
}

impl Handler for Hopeless {
    async fn handle(self, _: JobContext) -> JobResult {
        Err(JobError::permanent("no hope"))
    }
}

#[tokio::test]
async fn dead_jobs_of_another_driver_arrive_and_can_be_made_jobs_here() {
    for kind in [Kind::Standard, Kind::Fifo] {
        let url = MINISTACK.url(kind);
        let config = Config::default().with_driver(url.as_str());
        let sink = SqsDeadLetters::connect(&config).await.unwrap();
        let elsewhere = Queue::from_shared(Arc::new(SpecDriver::new()));
        for number in 0..3 {
            elsewhere
                .enqueue(Hopeless { number })
                .ordering_key("lane")
                .await
                .unwrap();
        }
        let worker = Worker::builder(&elsewhere)
            .only_registered()
            .register::<Hopeless>()
            .dead_letters(sink.clone())
            .build()
            .unwrap();
        worker.drain().await.unwrap();

        let driver = connect(&url).await;
        let name = queue("elsewhere");
        let page = PageRequest::first(10);
        let letters = driver.dead_letters(&name, page).await.unwrap().items;
        assert_eq!(letters.len(), 3);
        let first = &letters[0];
        assert_eq!((first.reason, first.attempts), (DeadReason::Permanent, 1));
        assert_eq!(first.error, "no hope");
        let found = driver.dead_letter(&name, first.id).await.unwrap().unwrap();
        assert_eq!(found.body, first.body);

        // They are jobs of this service then, with their key where there is one.
        assert_eq!(driver.requeue_dead(&name, Selection::All).await.unwrap(), 3);
        assert_eq!(driver.stats(&name).await.unwrap().dead, 0);
        let job = next(&driver, "elsewhere", Duration::from_secs(10)).await;
        assert_eq!(job.attempt, 1);
        // A standard queue has no order.
        assert!(job.lease.id == first.id || kind == Kind::Standard);
        let more = take(&driver, "elsewhere", 5).await.len();
        assert_eq!(
            more,
            if kind == Kind::Fifo { 0 } else { 2 },
            "one at a time of one lane"
        );

        driver.close().await.unwrap();
        let other = driver.dead_letter_sink();
        let letter = goqueue_core::DeadLetter::new(
            first.id,
            name,
            DeadReason::Exhausted,
            "late",
            first.body.clone(),
        );
        let error = goqueue_core::DeadLetters::store(&other, letter)
            .await
            .unwrap_err();
        assert!(error.to_string().contains("closed"), "{error}");
    }
}
