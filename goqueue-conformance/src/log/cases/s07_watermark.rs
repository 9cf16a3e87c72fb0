//! The watermark is the highest offset up to which everything is acked; what lies at or below the
//! lowest of all groups is collected.

use goqueue_core::log::store::{CollectRequest, Collected};

use crate::{
    check::promise,
    log::{
        LogHarness,
        bench::{Bench, ids, key, topic},
    },
};

async fn collect(b: &Bench<'_>) -> Collected {
    let request = CollectRequest {
        topic: topic(),
        retention: None,
        max: 1_000,
    };
    let collected = b.backend.transactions().collect(&request).await;
    collected.unwrap_or_else(|error| panic!("no collection: {error}"))
}

pub(crate) async fn the_watermark_is_contiguous(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish_many("p", 5).await;
    let hand = b.hand("s", "g", "p").await;
    promise!(hand.acquire().await, "a free lease can be taken"; "it cannot");
    let taken = hand.take(5).await;
    // Which one is acked, and where the watermark is then.
    for (index, watermark) in [(1, 0), (3, 0), (0, 2), (2, 4), (4, 5)] {
        hand.ack(&taken[index]).await;
        let offsets = b.offsets("g", "p").await;
        promise!(
            offsets.watermark == watermark && offsets.lag() == 5 - watermark,
            "once offset {} is acked the watermark is {watermark}",
            index + 1;
            "{offsets:?}"
        );
    }
}

pub(crate) async fn what_every_group_has_acked_is_collected(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish_many("p", 6).await;
    let unread = collect(&b).await;
    promise!(unread.acked == 0, "what nobody has read is kept"; "{unread:?}");
    let (one, two) = (b.hand("s", "one", "p").await, b.hand("s", "two", "p").await);
    for (hand, count) in [(&one, 5), (&two, 3)] {
        promise!(hand.acquire().await, "a free lease can be taken"; "it cannot");
        for item in hand.take(count).await {
            hand.ack(&item).await;
        }
    }
    let collected = collect(&b).await;
    promise!(collected.acked == 3, "both have acked three"; "{collected:?}");
    let left = ids(&b.stored(&topic()).await);
    promise!(left == ["3", "4", "5"], "the others are kept"; "{left:?}");
    let (tail, head) = {
        let offsets = b.offsets("one", "p").await;
        (offsets.tail, offsets.head)
    };
    promise!((tail, head) == (3, 6), "the tail is 3 and the head 6"; "{tail} and {head}");
    let again = collect(&b).await;
    promise!(again.acked == 0, "there is nothing more to collect"; "{again:?}");
    let published = b.publish("p", &["6"]).await;
    promise!(published[0].offset() == 7, "offsets go on"; "{published:?}");
}

pub(crate) async fn a_subscription_collects_by_itself(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish_many("p", 30).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    for delivery in b.take(&mut subscription, 30).await {
        let acked = delivery.ack().await;
        promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    }
    b.until("the messages are collected", async || {
        b.stored(&topic()).await.is_empty()
    })
    .await;
}

pub(crate) async fn a_gap_does_not_stop_the_watermark(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish_many("p", 4).await;
    for offset in [2, 4] {
        let deleted = b
            .log
            .admin()
            .delete_message(&topic(), &key("p"), offset)
            .await;
        promise!(matches!(deleted, Ok(true)), "offset {offset} is deleted"; "{deleted:?}");
    }
    let hand = b.hand("s", "g", "p").await;
    promise!(hand.acquire().await, "a free lease can be taken"; "it cannot");
    let taken = hand.take(10).await;
    promise!(taken.len() == 2, "two are left to read"; "{taken:?}");
    for item in &taken {
        hand.ack(item).await;
    }
    let offsets = b.offsets("g", "p").await;
    promise!(offsets.lag() == 0, "nothing is left, so nothing is behind"; "{offsets:?}");
}
