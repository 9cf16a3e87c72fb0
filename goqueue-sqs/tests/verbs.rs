//! Each verb against what SQS does to it: partial failures, limits, old receipts, strangers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use aws_sdk_sqs::types::{MessageAttributeValue, QueueAttributeName as Attribute};
use goqueue_core::{
    Error, Handler, Job, JobContext, JobResult, Queue, Worker,
    dead_letter::DeadReason,
    driver::{Driver, Inspect, LeaseOutcome, PageRequest, PushOutcome, Selection, Verdict},
};
use serde::{Deserialize, Serialize};
use support::*;

const SOON: Duration = Duration::from_secs(20);

fn is_stored(outcome: &PushOutcome) -> bool {
    matches!(outcome, PushOutcome::Stored)
}

#[tokio::test]
async fn a_batch_tells_which_jobs_are_stored_and_only_those_put_off_are_sent_again() {
    let url = MINISTACK.url(Kind::Standard);
    let proxy = Proxy::before(&url).await;
    let driver = connect(&proxy.through(&url)).await;
    driver.push(vec![job("q", "first")]).await.unwrap();
    proxy.reset();
    // The service takes the first, puts the second off, and refuses the third.
    let body = r#"{"Successful":[{"Id":"0","MessageId":"m","MD5OfMessageBody":"5f4dcc3b5aa765d61d8327deb882cf99"}],
        "Failed":[{"Id":"1","SenderFault":false,"Code":"InternalError","Message":"later"},
                  {"Id":"2","SenderFault":true,"Code":"InvalidMessageContents","Message":"never"}]}"#;
    proxy.answer(Instead {
        action: "SendMessageBatch",
        status: "200 OK",
        body: body.into(),
        times: 1,
    });
    let jobs = ["password", "second", "third"]
        .map(|body| job("q", body))
        .to_vec();
    let outcomes = driver.push(jobs).await.unwrap();
    assert!(
        is_stored(&outcomes[0]) && is_stored(&outcomes[1]),
        "{outcomes:?}"
    );
    let PushOutcome::Refused(error) = &outcomes[2] else {
        panic!("{outcomes:?}")
    };
    assert!(
        error.to_string().contains("InvalidMessageContents: never"),
        "{error}"
    );
    assert!(!error.is_transient());
    assert_eq!(
        proxy.calls()["SendMessageBatch"],
        1,
        "the second alone was sent again"
    );
    let jobs = take(&driver, "q", 10).await;
    assert_eq!(
        jobs.len(),
        2,
        "the first of all, and the second of the batch"
    );
}

#[tokio::test]
async fn throttling_and_server_errors_are_transient_and_a_denial_is_not() {
    let url = MINISTACK.url(Kind::Standard);
    let proxy = Proxy::before(&url).await;
    let driver = connect(&proxy.through(&url)).await;
    driver.push(vec![job("q", "first")]).await.unwrap();
    for (status, code, is_transient) in [
        (
            "400 Bad Request",
            "com.amazonaws.sqs#RequestThrottled",
            true,
        ),
        (
            "503 Service Unavailable",
            "com.amazonaws.sqs#ServiceUnavailable",
            true,
        ),
        (
            "500 Internal Server Error",
            "com.amazonaws.sqs#InternalError",
            true,
        ),
        (
            "403 Forbidden",
            "com.amazonaws.sqs#AccessDeniedException",
            false,
        ),
        (
            "400 Bad Request",
            "com.amazonaws.sqs#UnsupportedOperation",
            false,
        ),
    ] {
        proxy.answer(Instead {
            action: "SendMessageBatch",
            status,
            body: format!(r#"{{"__type":"{code}","message":"told so"}}"#),
            times: 100,
        });
        let outcome = driver.push(vec![job("q", "job")]).await.unwrap().remove(0);
        let PushOutcome::Refused(error) = outcome else {
            panic!("{code}: {outcome:?}")
        };
        assert_eq!(error.is_transient(), is_transient, "{code}: {error}");
        assert!(error.to_string().contains("told so"), "{error}");
    }
}

#[tokio::test]
async fn limits_are_checked_before_anything_is_sent() {
    let url = LOCALSTACK.url(Kind::Standard);
    let proxy = Proxy::before(&url).await;
    let driver = connect(&proxy.through(&url)).await;
    let limit = driver.capabilities().max_payload;
    let largest = "x".repeat(limit);
    // Bodies and attributes together: this is one that the strict service takes.
    let outcomes = driver.push(vec![job("q", largest)]).await.unwrap();
    assert!(is_stored(&outcomes[0]), "{outcomes:?}");
    proxy.reset();
    for body in ["x".repeat(goqueue_sqs::MAX_MESSAGE), "\0".repeat(limit)] {
        let outcomes = driver.push(vec![job("q", body)]).await.unwrap();
        let PushOutcome::Refused(Error::PayloadTooLarge { size, limit, .. }) = &outcomes[0] else {
            panic!("{outcomes:?}")
        };
        assert!(*size > *limit && *limit == goqueue_sqs::MAX_MESSAGE);
    }
    assert_eq!(
        proxy.calls().get("SendMessageBatch"),
        None,
        "nothing was sent"
    );
}

#[tokio::test]
async fn a_queue_with_a_smaller_limit_is_respected() {
    let url = MINISTACK.url(Kind::Standard);
    let made = raw(&url)
        .create_queue()
        .queue_name(on_sqs(&url, "small"))
        .attributes(Attribute::MaximumMessageSize, "2048");
    made.send().await.unwrap();
    let driver = connect(&url).await;
    let jobs = vec![
        job("small", "x".repeat(2_048)),
        job("small", "x".repeat(1_900)),
    ];
    let outcomes = driver.push(jobs).await.unwrap();
    assert!(
        matches!(
            outcomes[0],
            PushOutcome::Refused(Error::PayloadTooLarge { limit: 2_048, .. })
        ),
        "{outcomes:?}"
    );
    assert!(is_stored(&outcomes[1]), "{outcomes:?}");
}

/// The service's documentation says that a delete with an old receipt succeeds and may do nothing.
/// LocalStack keeps to it, ministack refuses the receipt; the driver judges by its own clock.
#[tokio::test]
async fn an_old_receipt_ends_nothing() {
    for service in [MINISTACK, LOCALSTACK] {
        let url = service.url(Kind::Standard);
        let (old, new) = (connect(&url).await, connect(&url).await);
        old.push(vec![job("q", "job")]).await.unwrap();
        let mut short = request("q", 1, Duration::ZERO);
        short.lease = Duration::from_secs(2);
        let stale = old.reserve(short).await.unwrap().remove(0);
        let held = next(&new, "q", SOON).await;
        assert_eq!(held.attempt, 2);
        for verdict in [Verdict::Ack, retry(Duration::ZERO), dead("too late")] {
            assert_eq!(
                settle(&old, &stale.lease, verdict).await,
                LeaseOutcome::Lost
            );
        }
        let stats = new.stats(&queue("q")).await.unwrap();
        assert_eq!((stats.running, stats.dead), (1, 0), "{}", service.name);
        assert_eq!(
            settle(&new, &held.lease, Verdict::Ack).await,
            LeaseOutcome::Done
        );
    }
}

#[tokio::test]
async fn a_redrive_policy_is_left_alone_and_reported() {
    let url = LOCALSTACK.url(Kind::Standard);
    let client = raw(&url);
    let target = client
        .create_queue()
        .queue_name(on_sqs(&url, "theirs"))
        .send()
        .await
        .unwrap();
    let arn = client
        .get_queue_attributes()
        .queue_url(target.queue_url.unwrap())
        .attribute_names(Attribute::QueueArn);
    let arn = arn.send().await.unwrap().attributes.unwrap()[&Attribute::QueueArn].clone();
    let policy = format!(r#"{{"deadLetterTargetArn":"{arn}","maxReceiveCount":"7"}}"#);
    let made = client
        .create_queue()
        .queue_name(on_sqs(&url, "q"))
        .attributes(Attribute::RedrivePolicy, &policy);
    made.send().await.unwrap();
    let driver = connect(&url).await;
    let told = driver.redrive_policy(&queue("q")).await.unwrap().unwrap();
    assert_eq!((told.max_receive_count, &told.target), (7, &arn));
    driver.push(vec![job("q", "job")]).await.unwrap();
    let held = next(&driver, "q", SOON).await;
    settle(&driver, &held.lease, dead("no")).await;
    assert_eq!(driver.redrive_policy(&queue("other")).await.unwrap(), None);
    let kept = client
        .get_queue_attributes()
        .queue_url(url_of(&url, "q").await)
        .attribute_names(Attribute::RedrivePolicy);
    let kept = kept.send().await.unwrap().attributes.unwrap();
    assert!(kept[&Attribute::RedrivePolicy].contains(&arn));
}

#[derive(Serialize, Deserialize)]
struct Good;

impl Job for Good {
    const NAME: &'static str = "good";
    const QUEUE: &'static str = "q";
}

impl Handler for Good {
    async fn handle(self, _: JobContext) -> JobResult {
        Ok(())
    }
}

/// Ten attributes are the most that a message may have; the two implementations accept more.
#[tokio::test]
async fn foreign_and_corrupt_messages_become_dead_letters_byte_for_byte() {
    for kind in [Kind::Standard, Kind::Fifo] {
        let url = MINISTACK.url(kind);
        let driver = connect(&url).await;
        let jobs_queue = Queue::new(driver.clone());
        jobs_queue.enqueue(Good).await.unwrap();
        let client = raw(&url);
        let theirs = |n: usize| {
            let value = MessageAttributeValue::builder()
                .data_type("String")
                .string_value("v");
            (format!("theirs.{n}"), value.build().unwrap())
        };
        let corrupt = MessageAttributeValue::builder()
            .data_type("String")
            .string_value("many");
        let corrupt = corrupt.build().unwrap();
        let bodies = ["hello, this is no envelope", "{\"v\":1}", "<xml/>"];
        for (n, body) in bodies.into_iter().enumerate() {
            let mut send = client
                .send_message()
                .queue_url(url_of(&url, "q").await)
                .message_body(body)
                .set_message_attributes(Some((0..n * 5).map(theirs).collect()));
            if n == 1 {
                send = send
                    .message_attributes("goqueue.id", corrupt.clone())
                    .message_attributes("goqueue.base", corrupt.clone());
            }
            if kind == Kind::Fifo {
                send = send
                    .message_group_id("g")
                    .message_deduplication_id(format!("{n}"));
            }
            send.send().await.unwrap();
        }
        let worker = Worker::builder(&jobs_queue)
            .only_registered()
            .register::<Good>()
            .queue("q", 1)
            .build()
            .unwrap();
        let drained = async {
            loop {
                let stats = driver.stats(&queue("q")).await.unwrap();
                if stats.ready + stats.scheduled + stats.running == 0 && stats.dead == 3 {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let report = tokio::time::timeout(SOON * 2, worker.run_until(drained)).await;
        assert_eq!(report.unwrap().unwrap().finished, 4);
        let letters = driver
            .dead_letters(&queue("q"), PageRequest::first(10))
            .await
            .unwrap()
            .items;
        let mut kept: Vec<_> = letters.iter().map(|letter| letter.body.to_vec()).collect();
        kept.sort();
        let mut sent = bodies.map(|body| body.as_bytes().to_vec());
        sent.sort();
        assert_eq!(kept, sent);
        let strange = |letter: &&goqueue_core::driver::DeadLetterInfo| {
            letter.reason == DeadReason::Undecodable
        };
        // The one with ten attributes of its own has no room for a reason, and is taken for what it is.
        assert_eq!(letters.iter().filter(strange).count(), 3, "{letters:?}");
        assert_eq!(
            driver
                .delete_dead(&queue("q"), Selection::All)
                .await
                .unwrap(),
            3
        );
    }
}

#[tokio::test]
async fn what_sqs_cannot_do_is_refused_with_what_to_use_instead() {
    let driver = connect(&MINISTACK.url(Kind::Standard)).await;
    let peek = driver
        .peek(
            &queue("q"),
            goqueue_core::driver::JobState::Ready,
            PageRequest::first(1),
        )
        .await;
    assert!(peek.unwrap_err().to_string().contains("`stats`"));
    let mut later = job("q", "later");
    later.delay = Duration::from_secs(60);
    driver.push(vec![later, job("q", "now")]).await.unwrap();
    let purge = driver.purge(&queue("q")).await.unwrap_err();
    assert!(purge.to_string().contains("`PurgeQueue`"), "{purge}");
    let stats = driver.stats(&queue("q")).await.unwrap();
    assert_eq!(
        (stats.ready, stats.scheduled),
        (1, 1),
        "nothing was removed"
    );
}
