use goqueue_conformance::SpecDriver;
use goqueue_core::{
    DeadLetter, DeadLetters as _, Envelope, Handler, Job, JobContext, JobError, JobResult, Queue,
    Worker,
};
use serde::{Deserialize, Serialize};

use super::*;
use crate::MemoryDeadLetters;

#[derive(Serialize, Deserialize)]
struct Hopeless {
    number: u32,
}

impl Job for Hopeless {
    const NAME: &'static str = "hopeless";
    const QUEUE: &'static str = "q";
}

impl Handler for Hopeless {
    async fn handle(self, _cx: JobContext) -> JobResult {
        Err(JobError::permanent("no hope"))
    }
}

fn letter(body: &'static str) -> DeadLetter {
    DeadLetter::new(
        JobId::new(),
        name("q"),
        DeadReason::Exhausted,
        "it failed",
        Bytes::from_static(body.as_bytes()),
    )
}

#[tokio::test]
async fn dead_jobs_of_another_driver_arrive_and_can_be_made_jobs_here() {
    let elsewhere = Queue::new(SpecDriver::new());
    for number in 0..3 {
        let enqueue = elsewhere.enqueue(Hopeless { number }).ordering_key("lane");
        enqueue.unique_key(number.to_string()).await.unwrap();
    }
    let sink = MemoryDeadLetters::connect("memory://sink-test", elsewhere.config()).unwrap();
    let worker = Worker::builder(&elsewhere)
        .only_registered()
        .register::<Hopeless>()
        .dead_letters(sink.clone())
        .build()
        .unwrap();
    worker.drain().await.unwrap();
    let stats = elsewhere.inspect().unwrap().stats(&name("q")).await;
    assert_eq!(stats.unwrap().dead, 0);

    let driver = sink.driver();
    assert_eq!(driver.queues().await.unwrap(), [name("q")]);
    let page = PageRequest::first(10);
    let letters = driver.dead_letters(&name("q"), page).await.unwrap().items;
    assert_eq!(letters.len(), 3);
    assert_eq!(
        (letters[1].reason, letters[1].attempts, &*letters[1].error),
        (DeadReason::Permanent, 1, "no hope")
    );
    assert!(letters[1].died_at > 1_700_000_000_000);
    let envelope = Envelope::decode(&letters[1].body).unwrap();
    assert_eq!(envelope.payload.get(), r#"{"number":1}"#);

    // They are jobs of this store then, with their keys.
    let requeued = driver.requeue_dead(&name("q"), Selection::All).await;
    assert_eq!(requeued.unwrap(), 3);
    let taken = driver.take(9).await;
    assert_eq!(taken.len(), 1, "one at a time of one lane");
    let again = driver.put(unique("again", "0", Duration::ZERO)).await;
    assert_eq!(duplicate_of(&again), Some(taken[0].lease.id));
}

#[tokio::test(start_paused = true)]
async fn a_letter_stored_twice_is_one_and_old_ones_go() {
    let driver = MemoryDriver::builder().retention(MINUTE).build().unwrap();
    let sink = MemoryDeadLetters::from(driver.clone());
    let first = letter("raw bytes that are no envelope");
    for _ in 0..2 {
        sink.store(first.clone()).await.unwrap();
    }
    assert_eq!(driver.counts().await.dead, 1);
    driver.advance(MINUTE);
    let second = letter("another");
    sink.store(second.clone()).await.unwrap();
    assert_eq!(driver.counts().await.dead, 1);
    let found = driver.dead_letter(&name("q"), second.id).await.unwrap();
    assert_eq!(found.unwrap().body, second.body);
    driver.close().await.unwrap();
    let error = sink.store(first).await.unwrap_err();
    assert!(error.to_string().contains("closed"), "{error}");
}

#[tokio::test]
async fn a_full_store_takes_no_letter_until_there_is_room() {
    let driver = MemoryDriver::builder().capacity(1).build().unwrap();
    let sink = MemoryDeadLetters::from(driver.clone());
    let first = letter("first");
    sink.store(first.clone()).await.unwrap();
    sink.store(first.clone()).await.unwrap();
    let error = sink.store(letter("second")).await.unwrap_err();
    assert!(error.to_string().contains("full"), "{error}");
    let which = Selection::Ids(vec![first.id]);
    driver.delete_dead(&name("q"), which).await.unwrap();
    sink.store(letter("second")).await.unwrap();
    assert_eq!(driver.counts().await.dead, 1);
}
