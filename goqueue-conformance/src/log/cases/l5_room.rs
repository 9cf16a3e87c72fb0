//! L5. A message's visibility is not spent on waiting for the consumer.

use crate::{
    check::promise,
    log::{
        LogHarness,
        bench::{Bench, group, id, key, topic},
    },
};
use goqueue_core::log::store::GroupPartition;

fn at() -> GroupPartition {
    GroupPartition {
        topic: topic(),
        group: group("g"),
        partition: key("p"),
    }
}

pub(crate) async fn no_more_is_fetched_than_there_is_room_for(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish_many("p", 100).await;
    let mut config = b.config("s", "g");
    config.batch_size = 8;
    let mut subscription = b.subscribe(config).await;
    for taken in 0..6 {
        // The consumer does something else.
        b.elapse(b.lease() / 4).await;
        let open = b
            .backend
            .deliveries()
            .open(&at(), 1_000)
            .await
            .unwrap_or_default();
        let unseen = open.len() - taken;
        promise!(unseen <= 8, "no more than a batch waits for the consumer"; "{unseen} wait");
        let delivery = b.next(&mut subscription).await;
        let extended = delivery.extend(b.lease() * 100).await;
        promise!(extended.is_ok(), "an extension in time counts"; "{extended:?}");
    }
}

pub(crate) async fn what_waits_keeps_its_visibility(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish_many("p", 8).await;
    let mut config = b.config("s", "g");
    config.batch_size = 8;
    let mut subscription = b.subscribe(config).await;
    b.until("they are fetched", async || {
        b.backend
            .deliveries()
            .open(&at(), 100)
            .await
            .is_ok_and(|open| open.len() == 8)
    })
    .await;
    // Several visibility timeouts pass before the consumer looks.
    b.elapse(b.lease() * 4).await;
    for n in 0..8 {
        let delivery = b.next(&mut subscription).await;
        promise!(
            id(&delivery) == n.to_string() && delivery.attempt() == 1,
            "message {n} is delivered, for the first time";
            "{delivery:?}"
        );
        let acked = delivery.ack().await;
        promise!(acked.is_ok(), "and there is still time to answer"; "{acked:?}");
    }
}
