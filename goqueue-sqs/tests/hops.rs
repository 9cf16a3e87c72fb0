//! Delays and retries beyond what SQS can do with one message, with its limits lowered.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use goqueue_core::driver::{Driver, Inspect, LeaseOutcome, NewJob, UniqueKey, Verdict};
use support::*;
use tokio::time::Instant;

const SOON: Duration = Duration::from_secs(20);
const SECOND: Duration = Duration::from_secs(1);

async fn live(driver: &goqueue_sqs::SqsDriver) -> u64 {
    let stats = driver.stats(&queue("q")).await.unwrap();
    stats.ready + stats.scheduled + stats.running
}

#[tokio::test]
async fn a_long_delay_hops_and_spends_no_attempt() {
    for service in [MINISTACK, LOCALSTACK] {
        let url = service.url(Kind::Standard);
        let proxy = Proxy::before(&url).await;
        let driver = connect_with(&proxy.through(&url), "max_delay = \"1s\"").await;
        let delay = SECOND * 9;
        let began = Instant::now();
        let later = NewJob {
            delay,
            ..job("q", "later")
        };
        driver.push(vec![later]).await.unwrap();
        let job = loop {
            if let Some(job) = take(&driver, "q", 1).await.pop() {
                break job;
            }
            assert_eq!(live(&driver).await, 1, "one copy at any moment");
            assert!(began.elapsed() < delay + SOON, "it came never");
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        let took = began.elapsed();
        assert!(took >= delay, "early on {}: {took:?}", service.name);
        assert_eq!((job.attempt, &*job.body), (1, &b"later"[..]));
        let sent = proxy.calls()["SendMessageBatch"];
        assert!(sent > 3, "{} sendings make {} hops", sent, sent - 1);
        assert_eq!(
            settle(&driver, &job.lease, Verdict::Ack).await,
            LeaseOutcome::Done
        );
        assert_eq!(live(&driver).await, 0);
    }
}

#[tokio::test]
async fn a_retry_beyond_the_longest_visibility_is_a_copy_with_its_attempts() {
    for kind in [Kind::Standard, Kind::Fifo] {
        let url = MINISTACK.url(kind);
        let table = "max_visibility = \"4s\"\nmax_delay = \"2s\"";
        let driver = connect_with(&url, table).await;
        driver.push(vec![job("q", "again")]).await.unwrap();
        let first = next(&driver, "q", SOON).await;
        let id = first.lease.id;
        // Within the limit it is hidden, beyond it a copy.
        let mut job = first;
        for (attempt, delay) in [(1, 1), (2, 6), (3, 5)] {
            assert_eq!((job.attempt, job.lease.id), (attempt, id));
            let (began, delay) = (Instant::now(), SECOND * delay);
            assert_eq!(
                settle(&driver, &job.lease, retry(delay)).await,
                LeaseOutcome::Done
            );
            job = next(&driver, "q", delay + SOON).await;
            let took = began.elapsed();
            assert!(took >= delay, "a retry in {delay:?} came after {took:?}");
        }
        assert_eq!((job.attempt, &*job.body), (4, &b"again"[..]));
        assert_eq!(live(&driver).await, 1, "one copy");
        settle(&driver, &job.lease, Verdict::Ack).await;
        assert_eq!(live(&driver).await, 0);
    }
}

#[tokio::test]
async fn a_job_held_for_longer_than_the_service_allows_loses_its_lease() {
    let url = MINISTACK.url(Kind::Standard);
    let driver = connect_with(&url, "max_visibility = \"5s\"").await;
    driver.push(vec![job("q", "long")]).await.unwrap();
    let held = next(&driver, "q", SOON).await;
    let lease = vec![held.lease.clone()];
    let extended = driver.extend(lease.clone(), SECOND * 2).await.unwrap();
    assert_eq!(extended, [LeaseOutcome::Done]);
    let beyond = driver.extend(lease, SECOND * 6).await.unwrap();
    assert_eq!(beyond, [LeaseOutcome::Lost]);
}

#[tokio::test]
async fn a_message_near_the_end_of_its_retention_starts_anew() {
    let url = MINISTACK.url(Kind::Standard);
    let client = raw(&url);
    let short = client
        .create_queue()
        .queue_name(on_sqs(&url, "q"))
        .attributes(
            aws_sdk_sqs::types::QueueAttributeName::MessageRetentionPeriod,
            "60",
        );
    short.send().await.unwrap();
    let proxy = Proxy::before(&url).await;
    let driver = connect(&proxy.through(&url)).await;
    driver.push(vec![job("q", "old")]).await.unwrap();
    let held = next(&driver, "q", SOON).await;
    proxy.reset();
    // Hidden for 50 of its 60 seconds the message would be deleted soon after, failed or not.
    settle(&driver, &held.lease, retry(SECOND * 50)).await;
    let calls = proxy.calls();
    assert_eq!(calls.get("SendMessageBatch"), Some(&1), "{calls:?}");
    assert_eq!(calls.get("DeleteMessageBatch"), Some(&1), "{calls:?}");
    let stats = driver.stats(&queue("q")).await.unwrap();
    assert_eq!((stats.scheduled, stats.running), (1, 0));
}

#[tokio::test]
async fn keys_of_a_fifo_queue_survive_retry_copy_and_dead_letter() {
    use aws_sdk_sqs::types::MessageSystemAttributeName as System;

    let url = MINISTACK.url(Kind::Fifo);
    let driver = connect_with(&url, "max_visibility = \"4s\"").await;
    let keyed = NewJob {
        ordering_key: Some("tenant 7".into()),
        unique: Some(UniqueKey {
            key: "once".into(),
            hold: Duration::ZERO,
        }),
        ..job("q", "keyed")
    };
    let id = keyed.id;
    driver.push(vec![keyed]).await.unwrap();
    let first = next(&driver, "q", SOON).await;
    settle(&driver, &first.lease, retry(SECOND * 6)).await;
    let second = next(&driver, "q", SOON).await;
    assert_eq!(second.attempt, 2);
    settle(&driver, &second.lease, dead("no hope")).await;

    let client = raw(&url);
    let receive = client
        .receive_message()
        .queue_url(url_of(&url, "q-dead").await)
        .message_system_attribute_names(System::All)
        .message_attribute_names("All");
    let message = receive.send().await.unwrap().messages.unwrap().remove(0);
    let (system, own) = (
        message.attributes.unwrap(),
        message.message_attributes.unwrap(),
    );
    let text = |name: &str| own[name].string_value().unwrap().to_owned();
    assert_eq!(system[&System::MessageGroupId], id.to_string());
    // A space cannot be in a group's id, so this one is a hash.
    assert!(text("goqueue.group").starts_with("sha256~"));
    assert_eq!(text("goqueue.dedup"), "once");
    assert_eq!(text("goqueue.id"), id.to_string());
    assert_eq!(text("goqueue.reason"), "permanent");
    assert_eq!(text("goqueue.attempts"), "2");
    assert_eq!(text("goqueue.queue"), "q");
    assert_eq!(text("goqueue.error"), "no hope");
    assert_eq!(message.body.unwrap(), "keyed");
}

#[tokio::test]
async fn a_group_keeps_its_order_through_a_retry() {
    for service in [MINISTACK, LOCALSTACK] {
        let driver = connect(&service.url(Kind::Fifo)).await;
        let keyed = |body: &'static str| NewJob {
            ordering_key: Some("k".into()),
            ..job("q", body)
        };
        let jobs = ["a", "b", "c"].map(keyed).to_vec();
        driver.push(jobs).await.unwrap();
        let first = next(&driver, "q", SOON).await;
        assert!(take(&driver, "q", 5).await.is_empty(), "the key is held");
        settle(&driver, &first.lease, retry(SECOND * 2)).await;
        assert!(
            take(&driver, "q", 5).await.is_empty(),
            "it waits for its retry"
        );
        for (body, attempt) in [("a", 2), ("b", 1), ("c", 1)] {
            let job = next(&driver, "q", SOON).await;
            assert_eq!((&*job.body, job.attempt), (body.as_bytes(), attempt));
            settle(&driver, &job.lease, Verdict::Ack).await;
        }
    }
}
