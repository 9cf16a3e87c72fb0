//! L1. Offsets become visible in order within a partition, however long a transaction stays open.

use std::time::Duration;

use goqueue_core::log::store::Settled;

use crate::{
    check::promise,
    log::{
        LogHarness,
        bench::{Bench, TOPIC, id, message},
    },
};

pub(crate) async fn a_slow_transaction_loses_nothing(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["first"]).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let acked = b.next(&mut subscription).await.ack().await;
    promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    let publisher = b.log.publisher();
    let request = publisher.prepare(TOPIC, [message("slow", "p")], Duration::ZERO);
    let held = h
        .hold(&b.store, request.expect("it can be published"))
        .await;
    // Others publish meanwhile: behind it, or once it is committed, but never past it.
    let log = b.log.clone();
    let quick = tokio::spawn(async move { log.publish(TOPIC, [message("quick", "p")]).await });
    b.publish("other", &["x"]).await;
    let elsewhere = b.next(&mut subscription).await;
    let is_other = ["x", "quick"].contains(&id(&elsewhere));
    promise!(is_other, "other partitions go on"; "{elsewhere:?}");
    let acked = elsewhere.ack().await;
    promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    b.elapse(b.lease() / 2).await;
    let committed = held.commit().await;
    promise!(committed.is_ok(), "the slow one is committed"; "{committed:?}");
    let quick = quick.await.expect("the publisher ends");
    promise!(quick.is_ok(), "so is the quick one"; "{quick:?}");
    let mut seen = Vec::new();
    while !(seen.contains(&"slow".to_owned()) && b.offsets("g", "p").await.lag() == 0) {
        let delivery = b.next(&mut subscription).await;
        seen.push(id(&delivery).to_owned());
        let acked = delivery.ack().await;
        promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    }
}

pub(crate) async fn readers_never_meet_a_lower_offset(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let publishers = (0..6).map(|publisher| {
        let log = b.log.clone();
        tokio::spawn(async move {
            for n in 0..30 {
                let batch = (0..3).map(|m| message(&format!("{publisher}-{n}-{m}"), "p"));
                log.publish(TOPIC, batch).await.expect("they are published");
            }
        })
    });
    let publishers: Vec<_> = publishers.collect();
    let hand = b.hand("s", "g", "p").await;
    promise!(hand.acquire().await, "a free lease can be taken"; "it cannot");
    let (mut last, mut count) = (0, 0);
    b.until("all 540 messages are read", async || {
        promise!(hand.acquire().await, "a lease of one's own can be taken again"; "it cannot");
        for item in hand.take(50).await {
            let offset = item.delivered.message.offset;
            promise!(offset == last + 1, "offset {} is next", last + 1; "it is {offset}");
            last = offset;
            count += 1;
            let acked = hand.ack(&item).await;
            promise!(acked == Settled::Done, "an ack in time counts"; "{acked:?}");
        }
        count == 540
    })
    .await;
    for publisher in publishers {
        publisher.await.expect("the publisher ends");
    }
}
