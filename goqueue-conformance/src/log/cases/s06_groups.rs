//! Groups share the log and nothing else.

use std::{collections::BTreeSet, time::Duration};

use tokio::time::timeout;

use crate::{
    check::promise,
    log::{
        LogHarness,
        bench::{Bench, TOPIC, id, message},
    },
};
use futures_util::StreamExt;

pub(crate) async fn every_group_reads_everything(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish_many("p", 20).await;
    let groups = ["one", "two", "three"];
    for group in groups {
        // Known from now on: nothing is collected before the last of them has read it.
        b.hand("h", group, "p").await;
    }
    for group in groups {
        let mut subscription = b.subscribe(b.config("s", group)).await;
        for n in 0..20 {
            let delivery = b.next(&mut subscription).await;
            promise!(
                id(&delivery) == n.to_string() && delivery.attempt() == 1,
                "group {group} reads message {n}, for its first time";
                "{delivery:?}"
            );
            let acked = delivery.ack().await;
            promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
        }
        b.drained(group, "p").await;
    }
}

pub(crate) async fn subscribers_of_a_group_share_the_messages(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let other = b.another().await;
    let mut one = b.subscribe(b.config("one", "g")).await;
    let mut two = crate::log::bench::subscribe(&other, b.config("two", "g")).await;
    let all = |n: usize| message(&n.to_string(), &format!("p{}", n % 8));
    b.log
        .publish(TOPIC, (0..80).map(all))
        .await
        .expect("they are published");
    let mut seen = BTreeSet::new();
    let wait = Duration::from_millis(30);
    b.until("both have read 80 messages", async || {
        for subscription in [&mut one, &mut two] {
            while let Ok(Some(delivery)) = timeout(wait, subscription.next()).await {
                let is_new = seen.insert(id(&delivery).to_owned());
                promise!(is_new, "each is delivered to one of them"; "{delivery:?} came twice");
                let acked = delivery.ack().await;
                promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
            }
        }
        seen.len() == 80
    })
    .await;
}

pub(crate) async fn the_state_of_groups_is_independent(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a", "b"]).await;
    let mut one = b.subscribe(b.config("s", "one")).await;
    let rejected = b.next(&mut one).await.reject("no").await;
    promise!(rejected.is_ok(), "group one gives `a` up"; "{rejected:?}");
    let nacked = b.next(&mut one).await.nack(b.lease()).await;
    promise!(nacked.is_ok(), "and fails `b`"; "{nacked:?}");
    let mut two = b.subscribe(b.config("s", "two")).await;
    for expected in ["a", "b"] {
        let delivery = b.next(&mut two).await;
        promise!(
            id(&delivery) == expected && delivery.attempt() == 1,
            "group two reads `{expected}`, at once and for its first time";
            "{delivery:?}"
        );
        let acked = delivery.ack().await;
        promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    }
    b.drained("two", "p").await;
    let again = b.next(&mut one).await;
    promise!(
        id(&again) == "b" && again.attempt() == 2,
        "group one gets `b` again, although group two has acked it";
        "{again:?}"
    );
}
