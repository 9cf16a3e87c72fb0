//! Closing a subscription.

use futures_util::StreamExt;

use crate::{
    check::promise,
    log::{
        LogHarness,
        bench::{Bench, group, id, topic},
    },
};

/// Requires that no lease and no heartbeat is there.
async fn is_clean(b: &Bench<'_>) {
    let leases = b.backend.leases().list(None, None).await;
    let is_empty = leases.as_ref().is_ok_and(Vec::is_empty);
    promise!(is_empty, "no lease is left"; "{leases:?}");
    let heartbeats = b.backend.heartbeats().list(&topic(), &group("g")).await;
    let is_empty = heartbeats.as_ref().is_ok_and(Vec::is_empty);
    promise!(is_empty, "no heartbeat is left"; "{heartbeats:?}");
}

pub(crate) async fn a_closed_subscription_leaves_nothing_behind(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a"]).await;
    b.publish("q", &["b"]).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    for delivery in b.take(&mut subscription, 2).await {
        let acked = delivery.ack().await;
        promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    }
    let handle = subscription.handle();
    let closing = tokio::spawn(async move { handle.close().await });
    let end = tokio::time::timeout(b.patience(), subscription.next()).await;
    promise!(matches!(end, Ok(None)), "the stream ends"; "{end:?}");
    let report = closing.await.expect("the close returns");
    promise!(report.acked == 2 && report.released == 0, "it is counted"; "{report:?}");
    is_clean(&b).await;
}

pub(crate) async fn what_was_not_handed_out_is_given_back(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish_many("p", 10).await;
    let mut config = b.config("s", "g");
    config.visibility_timeout = b.lease() * 50;
    let mut subscription = b.subscribe(config).await;
    let first = b.next(&mut subscription).await;
    let acked = first.ack().await;
    promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    let report = subscription.close().await;
    promise!(report.delivered == 1 && report.released > 0, "the rest is given back"; "{report:?}");
    is_clean(&b).await;
    let mut next = b.subscribe(b.config("next", "g")).await;
    for n in 1..10 {
        let delivery = b.next(&mut next).await;
        promise!(
            id(&delivery) == n.to_string() && delivery.attempt() == 1,
            "message {n} comes at once, and nobody had seen it before";
            "{delivery:?}"
        );
    }
}

pub(crate) async fn a_delivery_in_hand_can_be_answered_after_the_close(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a"]).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let delivery = b.next(&mut subscription).await;
    subscription.close().await;
    let acked = delivery.ack().await;
    promise!(acked.is_ok(), "it is acked"; "{acked:?}");
    b.drained("g", "p").await;
}

pub(crate) async fn a_dropped_subscription_is_closed(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a"]).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let delivery = b.next(&mut subscription).await;
    let handle = subscription.handle();
    drop(subscription);
    let report = tokio::time::timeout(b.patience(), handle.ended()).await;
    promise!(report.is_ok(), "it ends"; "{report:?}");
    drop(delivery);
    is_clean(&b).await;
}

pub(crate) async fn the_stream_ends_when_the_backend_is_closed(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let closed = b.log.close().await;
    promise!(closed.is_ok(), "a backend can be closed"; "{closed:?}");
    let end = tokio::time::timeout(b.patience(), subscription.next()).await;
    promise!(matches!(end, Ok(None)), "the stream ends"; "{end:?}");
    let refused = b.log.publish("t", []).await;
    promise!(refused.is_ok(), "nothing to publish is no error"; "{refused:?}");
    let refused = b.log.ping().await;
    let is_said = matches!(refused, Err(goqueue_core::Error::Closed { .. }));
    promise!(is_said, "what comes later is refused"; "{refused:?}");
}
