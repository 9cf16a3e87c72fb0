//! What is refused before anything reaches a backend, and in which words.

#![cfg(feature = "memory")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use goqueue::{Error, prelude::*};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

async fn refused(url: &str) -> String {
    Queue::connect_url(url).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_driver_that_does_not_exist() {
    let allowed = "memory://, redis://, rediss://, redis+unix://, redis-cluster://, \
                   rediss-cluster://, mysql://, sqs://";
    assert_eq!(
        refused("rabbit://user:hunter2@localhost").await,
        format!("unknown driver `rabbit`: allowed are {allowed}"),
    );
    assert_eq!(
        refused("localhost:6379").await,
        format!("unknown driver `(no scheme)`: allowed are {allowed}"),
    );
}

#[tokio::test]
async fn a_driver_that_is_not_compiled_in() {
    // Where this is tested together with a crate that wants a driver, that one is there.
    let (has_redis, has_mysql) = (cfg!(feature = "redis"), cfg!(feature = "mysql"));
    let has_sqs = cfg!(feature = "sqs");
    let missing = [
        (has_redis, "redis", "redis://:hunter2@localhost"),
        (has_redis, "redis", "REDISS://localhost"),
        (has_mysql, "mysql", "mysql://root:hunter2@localhost/jobs"),
        (
            has_sqs,
            "sqs",
            "sqs://eu-west-1/shop-?secret_access_key=hunter2",
        ),
    ];
    let mut compiled = String::from("memory");
    for (_, name) in [(has_mysql, "mysql"), (has_redis, "redis"), (has_sqs, "sqs")]
        .iter()
        .filter(|its| its.0)
    {
        compiled += &format!(", {name}");
    }
    for (_, feature, url) in missing.into_iter().filter(|its| !its.0) {
        let scheme = url.split_once("://").unwrap().0.to_lowercase();
        assert_eq!(
            refused(url).await,
            format!(
                "driver `{scheme}` is not compiled in: enable the Cargo feature `{feature}` of \
                 `goqueue` (compiled in: {compiled})"
            ),
        );
    }
}

/// Kept as JSON, since escaping a text of this size takes seconds in a debug build.
#[derive(Serialize, Deserialize, Job)]
#[job(name = "report.blob", register = false)]
struct Blob(Box<RawValue>);

#[tokio::test]
async fn a_payload_larger_than_the_driver_takes() {
    let queue = Queue::connect_url("memory://").await.unwrap();
    let limit = queue.capabilities().max_payload;
    let text = format!("\"{}\"", "x".repeat(limit));
    let error = queue
        .enqueue(Blob(RawValue::from_string(text).unwrap()))
        .await
        .unwrap_err();
    let Error::PayloadTooLarge { size, .. } = error else {
        panic!("{error:?}")
    };
    assert!(size > limit);
    assert_eq!(
        error.to_string(),
        format!(
            "job `report.blob` is {size} bytes encoded, more than the {limit} that `memory` takes"
        ),
    );
}

#[derive(Serialize, Deserialize, Job)]
#[job(
    name = "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
    queue = "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq",
    register = false
)]
struct LongestNames;

#[tokio::test]
async fn the_derive_and_the_queue_have_one_rule_for_names() {
    let queue = Queue::connect_url("memory://").await.unwrap();
    assert_eq!(
        (LongestNames::NAME.len(), LongestNames::QUEUE.len()),
        (128, 64)
    );
    queue.enqueue(LongestNames).await.unwrap();

    let at_compile_time = include_str!("ui/bad_name.stderr");
    for name in ["mail welcome", "", &"n".repeat(129)] {
        let error = queue
            .enqueue_raw(name, "null")
            .await
            .unwrap_err()
            .to_string();
        assert!(at_compile_time.contains(&error), "{error}");
    }
    let at_compile_time = include_str!("ui/bad_queue.stderr");
    for name in ["mail/urgent", "", &"q".repeat(65)] {
        let error = queue
            .enqueue_raw("job", "null")
            .queue(name)
            .await
            .unwrap_err()
            .to_string();
        assert!(at_compile_time.contains(&error), "{error}");
    }
}
