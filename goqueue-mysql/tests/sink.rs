//! MySQL as the place for another driver's dead letters.

mod support;

use std::time::Duration;

use async_trait::async_trait;
use goqueue_conformance::SpecDriver;
use goqueue_core::{
    BoxError, DeadLetter, DeadLetters, Handler, Job, JobContext, JobError, JobResult, Queue,
    Worker,
    dead_letter::DeadReason,
    driver::{Driver, PageRequest, Selection},
};
use goqueue_mysql::{MysqlDeadLetters, MysqlDriver};
use serde::{Deserialize, Serialize};
use support::*;

#[derive(Serialize, Deserialize)]
struct Bad {
    text: String,
}

impl Job for Bad {
    const NAME: &'static str = "bad";
    const QUEUE: &'static str = "q";
}

impl Handler for Bad {
    async fn handle(self, _cx: JobContext) -> JobResult {
        Err(JobError::permanent(format!("no way: {}", self.text)))
    }
}

/// Stores every letter twice, as a worker does that dies between keeping it and acking the job.
#[derive(Clone)]
struct Twice(MysqlDeadLetters);

#[async_trait]
impl DeadLetters for Twice {
    async fn store(&self, letter: DeadLetter) -> Result<(), BoxError> {
        self.0.store(letter.clone()).await?;
        self.0.store(letter).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn letters_of_another_driver_are_kept_listed_and_sent_back() {
    let database = Database::new().await;
    let other = Queue::new(SpecDriver::new());
    let ids = [
        other
            .enqueue(Bad {
                text: "ü \u{1F600}".into(),
            })
            .await
            .unwrap()
            .id(),
        other
            .enqueue_raw("unknown", "[1, 2]")
            .queue("q")
            .max_attempts(1)
            .await
            .unwrap()
            .id(),
    ];
    let sink = MysqlDeadLetters::connect(database.url(), other.config())
        .await
        .unwrap();
    let worker = Worker::builder(&other)
        .only_registered()
        .register::<Bad>()
        .dead_letters(sink.clone())
        .build()
        .unwrap();
    worker.drain().await.unwrap();
    assert_eq!(
        other
            .inspect()
            .unwrap()
            .stats(&queue("q"))
            .await
            .unwrap()
            .dead,
        0
    );

    let inspect = sink.driver().inspect().unwrap();
    let letters = inspect
        .dead_letters(&queue("q"), PageRequest::first(9))
        .await
        .unwrap()
        .items;
    assert_eq!(
        letters.iter().map(|letter| letter.id).collect::<Vec<_>>(),
        ids
    );
    assert_eq!(letters[0].reason, DeadReason::Permanent);
    assert_eq!(letters[0].error, "no way: ü \u{1F600}");
    assert_eq!((letters[0].attempts, letters[1].attempts), (1, 1));
    assert!(letters[0].died_at > 1_700_000_000_000);

    // They can become jobs of the database they lie in.
    assert_eq!(
        inspect
            .requeue_dead(&queue("q"), Selection::Ids(vec![ids[0]]))
            .await
            .unwrap(),
        1
    );
    let driver = MysqlDriver::connect(&database.config()).await.unwrap();
    let jobs = take(&driver, 9).await;
    assert_eq!((jobs.len(), &jobs[0].body), (1, &letters[0].body));
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_letter_twice_is_kept_once_and_a_lost_server_is_an_error() {
    let mut server = Server::start().await;
    let database = Database::on(&server.url()).await;
    let other = Queue::new(SpecDriver::new());
    other.enqueue(Bad { text: "x".into() }).await.unwrap();
    let config = database.config();
    let sink = Twice(MysqlDriver::connect(&config).await.unwrap().into());
    let worker = || {
        let builder = Worker::builder(&other).only_registered().register::<Bad>();
        builder
            .dead_letters(sink.clone())
            .shutdown_grace(Duration::from_millis(200))
            .build()
            .unwrap()
    };
    server.kill();
    // The job is kept while its letter cannot be, and is given back at the stop.
    let patience = tokio::time::sleep(Duration::from_millis(800));
    worker().run_until(patience).await.unwrap();
    let stats = other.inspect().unwrap().stats(&queue("q")).await.unwrap();
    assert_eq!((stats.ready, stats.running), (1, 0), "{stats:?}");
    server.resume().await;
    worker().drain().await.unwrap();
    let rows = || database.number("SELECT COUNT(*) FROM goqueue_dead_letters");
    assert_eq!(rows().await, 1);
}
