//! Jobs on one service, their dead letters on another.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod support;

use goqueue::{driver::PageRequest, prelude::*};
use goqueue_mysql::{MysqlDeadLetters, MysqlDriver};
use goqueue_sqs::SqsDriver;
use serde::{Deserialize, Serialize};

use support::{sqs, unique, url};

#[derive(Serialize, Deserialize, Job)]
#[job(name = "sinks.hopeless", register = false)]
struct Hopeless {
    number: u32,
}

impl Handler for Hopeless {
    async fn handle(self, _: JobContext) -> JobResult {
        Err(JobError::permanent(format!("{} is hopeless", self.number)))
    }
}

#[tokio::test]
async fn jobs_on_sqs_leave_their_dead_letters_in_mysql() {
    let unique = unique();
    let name = format!("sinks{}", &unique[16..]);
    let sqs = Config::default().with_driver(sqs(&unique[16..], false).as_str());
    let queue = Queue::new(SqsDriver::connect(&sqs).await.unwrap());
    let sink = MysqlDeadLetters::connect(url("GOQUEUE_TEST_MYSQL_URL"), &Config::default())
        .await
        .unwrap();
    let jobs = (0..3).map(|number| Hopeless { number });
    queue.enqueue_all(jobs).queue(&*name).await.unwrap();

    let worker = Worker::builder(&queue)
        .only_registered()
        .register::<Hopeless>()
        .queue(&*name, 1)
        .dead_letters(sink.clone())
        .build()
        .unwrap();
    assert_eq!(worker.drain().await.unwrap().finished, 3);

    let name = goqueue::QueueName::new(name).unwrap();
    let mysql = Config::default().with_driver(url("GOQUEUE_TEST_MYSQL_URL").as_str());
    let there = Queue::new(MysqlDriver::connect(&mysql).await.unwrap());
    let letters = there
        .inspect()
        .unwrap()
        .dead_letters(&name, PageRequest::first(10))
        .await
        .unwrap()
        .items;
    let mut errors: Vec<_> = letters.iter().map(|letter| letter.error.as_str()).collect();
    errors.sort_unstable();
    assert_eq!(errors, ["0 is hopeless", "1 is hopeless", "2 is hopeless"]);

    // SQS holds neither the jobs nor letters of its own.
    let left = queue.inspect().unwrap().stats(&name).await.unwrap();
    assert_eq!((left.ready, left.running, left.dead), (0, 0, 0));
}
