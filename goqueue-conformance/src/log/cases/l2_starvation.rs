//! L2. What is acked, in flight or invisible above the watermark keeps nothing from being delivered.

use std::time::Duration;

use goqueue_core::log::store::Verdict;

use crate::{
    check::promise,
    log::{
        LogHarness,
        bench::{Bench, TOPIC, message},
    },
};

/// How many are acked behind the stuck one.
const ACKED: usize = 10_000;

pub(crate) async fn one_stuck_message_holds_up_nobody(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["stuck"]).await;
    let hand = b.hand("s", "g", "p").await;
    promise!(hand.acquire().await, "a free lease can be taken"; "it cannot");
    let stuck = hand.take(1).await;
    let long = Verdict::Retry {
        delay: b.lease() * 10_000,
        error: None,
    };
    hand.settle(&stuck[0], long).await;
    for round in 0..ACKED / 1_000 {
        let numbers = round * 1_000..(round + 1) * 1_000;
        let messages = numbers.map(|n| message(&n.to_string(), "p"));
        b.log
            .publish(TOPIC, messages)
            .await
            .expect("they are published");
    }
    let mut acked = 0;
    while acked < ACKED {
        promise!(hand.acquire().await, "a lease of one's own can be taken again"; "it cannot");
        let taken = hand.take(1_000).await;
        promise!(!taken.is_empty(), "what is behind the stuck one is delivered"; "after {acked} nothing is");
        acked += hand_back(&b, &hand, &taken).await;
    }
    let offsets = b.offsets("g", "p").await;
    promise!(offsets.watermark == 0, "the watermark waits for the stuck one"; "{offsets:?}");
    b.publish("p", &["next"]).await;
    promise!(hand.acquire().await, "a lease of one's own can be taken again"; "it cannot");
    let next = hand.take(10).await;
    let ids: Vec<_> = next.iter().map(crate::log::bench::InHand::id).collect();
    promise!(ids == ["next"], "the next message is delivered at once"; "{ids:?}");
    let open = b
        .backend
        .deliveries()
        .open(&hand.at, 100)
        .await
        .unwrap_or_default();
    promise!(open.len() == 2, "only what is not acked is remembered"; "{} are", open.len());
}

/// Acks all of them in one call.
async fn hand_back(
    b: &Bench<'_>,
    hand: &crate::log::bench::Hand,
    taken: &[crate::log::bench::InHand],
) -> usize {
    let settlements: Vec<_> = taken
        .iter()
        .map(|item| goqueue_core::log::store::Settlement {
            partition: hand.at.partition.clone(),
            offset: item.delivered.message.offset,
            receipt: item.receipt,
            verdict: Verdict::Ack,
        })
        .collect();
    let transactions = b.backend.transactions();
    let settled = transactions
        .settle(&hand.at.topic, &hand.at.group, &settlements)
        .await;
    let settled = settled.unwrap_or_else(|error| panic!("no settlement: {error}"));
    settled.len()
}

pub(crate) async fn invisible_messages_hold_up_nobody(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let later = (0..200).map(|n| message(&format!("later-{n}"), "p"));
    let delay = b.lease() * 1_000;
    b.log
        .publish_after(TOPIC, later, delay)
        .await
        .expect("they are published");
    b.publish_many("p", 50).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    for _ in 0..50 {
        let delivery = b.next(&mut subscription).await;
        let nacked = delivery.nack(delay).await;
        promise!(nacked.is_ok(), "a nack in time counts"; "{nacked:?}");
    }
    b.publish("p", &["next"]).await;
    let next = b.next(&mut subscription).await;
    promise!(next.message().id.as_str() == "next", "the next one is delivered"; "{next:?}");
    let nothing = Duration::from_millis(100);
    b.nothing(&mut subscription, nothing, "the others are invisible")
        .await;
}
