//! Order within a partition, and none between partitions.

use goqueue_core::log::store::Verdict;

use crate::{
    check::promise,
    log::{
        LogHarness,
        bench::{Bench, id},
    },
};

pub(crate) async fn a_partition_is_delivered_in_order(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish_many("p", 100).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let mut last = 0;
    for n in 0..100 {
        let delivery = b.next(&mut subscription).await;
        let offset = delivery.message().offset;
        promise!(
            id(&delivery) == n.to_string() && offset > last,
            "message {n} is next, and offsets rise from {last}";
            "{delivery:?} at {offset}"
        );
        last = offset;
        let acked = delivery.ack().await;
        promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    }
    b.drained("g", "p").await;
}

pub(crate) async fn a_slow_partition_delays_no_other(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let mut config = b.config("s", "g");
    config.batch_size = 1;
    config.visibility_timeout = b.lease() * 50;
    b.publish_many("slow", 5).await;
    let mut subscription = b.subscribe(config).await;
    // It stays in hand, and everything behind it has to wait.
    let in_hand = b.next(&mut subscription).await;
    b.publish("quick", &["x", "y", "z"]).await;
    for expected in ["x", "y", "z"] {
        let delivery = b.next(&mut subscription).await;
        promise!(id(&delivery) == expected, "`{expected}` is next"; "{delivery:?}");
        let acked = delivery.ack().await;
        promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    }
    let acked = in_hand.ack().await;
    promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    let next = b.next(&mut subscription).await;
    promise!(id(&next) == "1", "then the slow partition goes on"; "{next:?}");
}

pub(crate) async fn a_batch_of_one_is_strictly_serial(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let mut config = b.config("s", "g");
    config.batch_size = 1;
    b.publish_many("p", 6).await;
    let mut subscription = b.subscribe(config).await;
    for n in 0..6 {
        let delivery = b.next(&mut subscription).await;
        promise!(id(&delivery) == n.to_string(), "message {n} is next"; "{delivery:?}");
        let why = "the one before is not answered";
        b.nothing(&mut subscription, b.lease() / 20, why).await;
        let acked = delivery.ack().await;
        promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    }
    b.drained("g", "p").await;
}

pub(crate) async fn a_serial_partition_waits_for_a_retry(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let mut config = b.config("s", "g");
    config.batch_size = 1;
    b.publish("p", &["a", "b"]).await;
    let mut subscription = b.subscribe(config).await;
    let first = b.next(&mut subscription).await;
    let nacked = first.nack(b.lease() / 4).await;
    promise!(nacked.is_ok(), "a nack in time counts"; "{nacked:?}");
    let again = b.next(&mut subscription).await;
    promise!(
        id(&again) == "a" && again.attempt() == 2,
        "nothing overtakes `a`, which is delivered again";
        "{again:?}"
    );
    let acked = again.ack().await;
    promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    let next = b.next(&mut subscription).await;
    promise!(id(&next) == "b", "`b` is next"; "{next:?}");
}

pub(crate) async fn a_new_holder_keeps_the_serial_order(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a", "b"]).await;
    let (one, other) = (
        b.hand("one", "g", "p").await,
        b.hand("other", "g", "p").await,
    );
    promise!(one.acquire().await, "a free lease can be taken"; "it cannot");
    let first = one.fetch_as(1, true).await.unwrap_or_default();
    promise!(first.len() == 1, "the first is taken"; "{first:?}");
    one.release().await;
    promise!(other.acquire().await, "a released lease can be taken"; "it cannot");
    let early = other.fetch_as(1, true).await.unwrap_or_default();
    promise!(early.is_empty(), "`a` is still in the hands of the holder before"; "{early:?}");
    let acked = one.settle(&first[0], Verdict::Ack).await;
    let done = goqueue_core::log::store::Settled::Done;
    promise!(acked == done, "its ack counts: nobody else was given `a`"; "{acked:?}");
    let next = other.fetch_as(1, true).await.unwrap_or_default();
    let ids: Vec<_> = next.iter().map(crate::log::bench::InHand::id).collect();
    promise!(ids == ["b"], "then `b` is next"; "{ids:?}");
}
