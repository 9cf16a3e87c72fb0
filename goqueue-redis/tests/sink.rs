//! Redis as the dead-letter sink of another driver.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{sync::Arc, time::Duration};

use goqueue_conformance::SpecDriver;
use goqueue_core::{
    Config, Queue, Worker,
    dead_letter::DeadReason,
    driver::{Driver, Inspect, PageRequest, Selection},
};
use goqueue_redis::RedisDeadLetters;
use support::*;

#[tokio::test]
async fn dead_jobs_of_another_driver_arrive_and_can_be_made_jobs_here() {
    let server = Server::start().await;
    let config = Config::from_toml(&format!(
        "driver = \"{}\"\n[dead_letter]\nretention = \"1s\"",
        server.url()
    ))
    .unwrap();
    let sink = RedisDeadLetters::connect(server.url(), &config)
        .await
        .unwrap();
    let queue_elsewhere = Queue::from_shared(Arc::new(SpecDriver::new()));
    for number in 0..3 {
        queue_elsewhere
            .enqueue(Hopeless { number })
            .ordering_key("lane")
            .unique_key(format!("{number}"))
            .await
            .unwrap();
    }
    let worker = Worker::builder(&queue_elsewhere)
        .only_registered()
        .register::<Hopeless>()
        .dead_letters(sink.clone())
        .build()
        .unwrap();
    worker.drain().await.unwrap();

    let driver = connect(&server.url()).await;
    let name = queue("elsewhere");
    assert_eq!(driver.queues().await.unwrap(), std::slice::from_ref(&name));
    let letters = driver
        .dead_letters(&name, PageRequest::first(10))
        .await
        .unwrap()
        .items;
    assert_eq!(letters.len(), 3);
    assert_eq!(
        (letters[0].reason, letters[0].attempts),
        (DeadReason::Permanent, 1)
    );
    assert_eq!(letters[0].error, "no hope");
    let envelope = goqueue_core::Envelope::decode(&letters[1].body).unwrap();
    assert_eq!(envelope.payload.get(), r#"{"number":1}"#);

    // They are jobs of this server then, with their keys.
    assert_eq!(driver.requeue_dead(&name, Selection::All).await.unwrap(), 3);
    assert_eq!(
        take(&driver, "elsewhere", 5).await.len(),
        1,
        "one at a time of one lane"
    );
    driver.purge(&name).await.unwrap();
}

#[tokio::test]
async fn a_letter_stored_twice_is_one_and_old_ones_go() {
    let server = Server::start().await;
    let config = Config::from_toml(&format!(
        "driver = \"{}\"\n[dead_letter]\nretention = \"200ms\"",
        server.url()
    ))
    .unwrap();
    let driver = goqueue_redis::RedisDriver::connect(&config).await.unwrap();
    let sink = RedisDeadLetters::from(driver.clone());
    let letter = support::letter("q", "raw bytes that are no envelope").await;
    for _ in 0..2 {
        goqueue_core::DeadLetters::store(&sink, letter.clone())
            .await
            .unwrap();
    }
    assert_eq!(driver.stats(&queue("q")).await.unwrap().dead, 1);
    tokio::time::sleep(Duration::from_millis(250)).await;
    let second = support::letter("q", "another").await;
    goqueue_core::DeadLetters::store(&sink, second.clone())
        .await
        .unwrap();
    let letters = driver
        .dead_letters(&queue("q"), PageRequest::first(10))
        .await
        .unwrap()
        .items;
    assert_eq!(
        letters.iter().map(|letter| letter.id).collect::<Vec<_>>(),
        [second.id]
    );
    driver.close().await.unwrap();
    let error = goqueue_core::DeadLetters::store(&sink, letter)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("closed"), "{error}");
}
