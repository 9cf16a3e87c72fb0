//! What is published is delivered to every group, at least once.

use std::{collections::BTreeSet, time::Duration};

use futures_util::future::join_all;
use goqueue_core::log::{NewMessage, Published};
use tokio::time::Instant;

use crate::{
    check::promise,
    log::{
        LogHarness,
        bench::{Bench, TOPIC, id, message},
    },
};

pub(crate) async fn a_published_message_is_delivered(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let new = NewMessage::new("17/paid", vec![0, 159, 146, 150], "straße 7").metadata("a", "ü");
    let published = b.log.publish(TOPIC, [new]).await;
    let is_stored = matches!(published.as_deref(), Ok([Published::Stored { offset: 1 }]));
    promise!(is_stored, "the first message of a partition has offset 1"; "{published:?}");
    let delivery = b.next(&mut subscription).await;
    let message = delivery.message();
    promise!(
        message.id.as_str() == "17/paid"
            && *message.payload == [0, 159, 146, 150]
            && message.partition.as_str() == "straße 7"
            && message.offset == 1
            && delivery.metadata().get("a").map(String::as_str) == Some("ü")
            && delivery.attempt() == 1,
        "it comes out as it went in";
        "{message:?}"
    );
    promise!(
        delivery.delivery_id().contains("17") || delivery.delivery_id().contains("@1"),
        "a delivery has an id of its own";
        "{}",
        delivery.delivery_id()
    );
    let acked = delivery.ack().await;
    promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    b.drained("g", "straße 7").await;
    let report = subscription.close().await;
    promise!(report.delivered == 1 && report.acked == 1, "it is counted"; "{report:?}");
}

pub(crate) async fn what_was_there_before_the_subscriber_is_delivered(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["before"]).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let first = b.next(&mut subscription).await;
    b.publish("p", &["after"]).await;
    let second = b.next(&mut subscription).await;
    let ids = (id(&first), id(&second));
    promise!(ids == ("before", "after"), "both are delivered, in order"; "{ids:?}");
}

pub(crate) async fn many_partitions_are_all_read(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let all = |n: usize| message(&n.to_string(), &format!("p{}", n % 16));
    let published = b.log.publish(TOPIC, (0..160).map(all)).await;
    promise!(published.is_ok(), "messages of many partitions are published at once"; "{published:?}");
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let mut seen = BTreeSet::new();
    while seen.len() < 160 {
        let delivery = b.next(&mut subscription).await;
        promise!(delivery.attempt() == 1, "nothing comes twice"; "{delivery:?}");
        seen.insert(id(&delivery).to_owned());
        let acked = delivery.ack().await;
        promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    }
    for n in 0..16 {
        b.drained("g", &format!("p{n}")).await;
    }
}

pub(crate) async fn a_delayed_message_is_never_early(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let delay = b.lease() / 2;
    let before = Instant::now();
    let published = b
        .log
        .publish_after(TOPIC, [message("later", "p")], delay)
        .await;
    promise!(published.is_ok(), "a delayed message is published"; "{published:?}");
    b.publish("p", &["now"]).await;
    let first = b.next(&mut subscription).await;
    promise!(id(&first) == "now", "a message that is not visible yet delays no other"; "{first:?}");
    let acked = first.ack().await;
    promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    let second = b.next(&mut subscription).await;
    let after = before.elapsed();
    promise!(
        id(&second) == "later" && after >= delay && second.attempt() == 1,
        "it is delivered once {delay:?} have passed, for the first time";
        "{second:?} after {after:?}"
    );
    let acked = second.ack().await;
    promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    b.drained("g", "p").await;
}

pub(crate) async fn concurrent_publishers_lose_nothing(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let publishers = (0..8).map(|publisher| {
        let log = b.log.clone();
        tokio::spawn(async move {
            for n in 0..25 {
                let new = message(&format!("{publisher}-{n}"), &format!("p{}", n % 3));
                log.publish(TOPIC, [new]).await.expect("it is published");
            }
        })
    });
    for publisher in join_all(publishers).await {
        promise!(publisher.is_ok(), "every publisher succeeds"; "{publisher:?}");
    }
    let mut seen = BTreeSet::new();
    while seen.len() < 200 {
        let delivery = b.next(&mut subscription).await;
        seen.insert(id(&delivery).to_owned());
        let acked = delivery.ack().await;
        promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    }
    for partition in ["p0", "p1", "p2"] {
        b.drained("g", partition).await;
        let head = b.offsets("g", partition).await.head;
        let stored = if partition == "p0" { 72 } else { 64 };
        promise!(head == stored, "offsets have no gaps: the last is {stored}"; "it is {head}");
    }
}

pub(crate) async fn a_crashed_subscriber_loses_nothing(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish_many("p", 5).await;
    let dead = b.hand("dead", "g", "p").await;
    promise!(dead.acquire().await, "a free lease can be taken"; "it cannot");
    let lost = dead.take(3).await;
    let acked = dead.ack(&lost[0]).await;
    promise!(acked == goqueue_core::log::store::Settled::Done, "one is acked"; "{acked:?}");
    // It says nothing any more.
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let mut seen = BTreeSet::new();
    while seen.len() < 4 {
        let delivery = b.next(&mut subscription).await;
        let attempt = if ["1", "2"].contains(&id(&delivery)) {
            2
        } else {
            1
        };
        promise!(delivery.attempt() == attempt, "attempts count deliveries"; "{delivery:?}");
        seen.insert(id(&delivery).to_owned());
        let acked = delivery.ack().await;
        promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    }
    b.drained("g", "p").await;
    b.nothing(
        &mut subscription,
        Duration::from_millis(200),
        "all is acked",
    )
    .await;
}

pub(crate) async fn a_restarted_backend_keeps_its_messages(h: &dyn LogHarness) {
    let b = Bench::on(h, h.store_to_restart().await).await;
    b.publish_many("p", 20).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    for _ in 0..5 {
        let acked = b.next(&mut subscription).await.ack().await;
        promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    }
    if h.restart_server(&b.store).await.is_err() {
        promise!(!b.log.capabilities().durable, "what is durable can be restarted"; "it cannot");
    }
    let mut acked = 5;
    while acked < 20 {
        // One that was in hand during the restart may come twice.
        acked += usize::from(b.next(&mut subscription).await.ack().await.is_ok());
    }
    b.drained("g", "p").await;
}

pub(crate) async fn what_cannot_be_published_is_named(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let limit = b.log.capabilities().max_payload;
    let long = "x".repeat(200);
    let reserved = message("1", "p").metadata("goqueue.failed_at", "1");
    for (topic, new, named) in [
        ("no topic", message("1", "p"), "`no topic`"),
        (TOPIC, message("", "p"), "message id"),
        (TOPIC, message(&long, "p"), "message id"),
        (TOPIC, message("1", ""), "partition key"),
        (TOPIC, reserved, "`goqueue.failed_at`"),
    ] {
        let refused = b.log.publish(topic, [message("0", "p"), new]).await;
        let text = refused.map_err(|error| error.to_string());
        let is_named = text.as_ref().is_err_and(|text| text.contains(named));
        promise!(is_named, "the error names {named}"; "{text:?}");
    }
    if limit < 100_000_000 {
        let large = NewMessage::new("large", vec![0; limit + 1], "p");
        let refused = b.log.publish(TOPIC, [message("0", "p"), large]).await;
        let text = refused.map_err(|error| error.to_string());
        let is_named = text.as_ref().is_err_and(|t| t.contains(&limit.to_string()));
        promise!(is_named, "the error names the limit of {limit} bytes"; "{text:?}");
    }
    let topics = b.log.admin().topics().await;
    let is_empty = topics.as_ref().is_ok_and(Vec::is_empty);
    promise!(is_empty, "nothing was stored"; "{topics:?}");
}
