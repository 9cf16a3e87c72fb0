//! The subscribers of a group share the partitions out evenly, and none is left over.

use std::{collections::BTreeSet, time::Duration};

use futures_util::StreamExt;
use goqueue_core::log::Subscription;
use tokio::time::timeout;

use crate::{
    check::promise,
    log::{
        LogHarness,
        bench::{Bench, TOPIC, id, message, topic},
    },
};

/// A message in each of so many partitions, which nobody acks.
async fn fill(b: &Bench<'_>, partitions: usize) {
    let messages = (0..partitions).map(|n| message("a", &format!("p{n:02}")));
    b.log
        .publish(TOPIC, messages)
        .await
        .expect("they are published");
}

async fn join(b: &Bench<'_>, names: &[&str]) -> Vec<Subscription> {
    let mut subscriptions = Vec::new();
    for name in names {
        subscriptions.push(b.subscribe(b.config(name, "g")).await);
    }
    subscriptions
}

/// Waits until the subscribers, by name, have these shares, and requires that they stay.
async fn settles(b: &Bench<'_>, expected: &[usize]) {
    let shares = async || -> Vec<usize> { b.shares("g").await.into_values().collect() };
    let mut last = Vec::new();
    let what = format!("the shares are {expected:?}");
    b.until(&what, async || {
        last = shares().await;
        last == expected
    })
    .await;
    for _ in 0..5 {
        b.elapse(b.lease() / 10).await;
        let now = shares().await;
        promise!(now == expected, "they stay {expected:?}"; "{now:?}");
    }
}

pub(crate) async fn shares_settle_even(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    fill(&b, 12).await;
    let first = join(&b, &["a"]).await;
    settles(&b, &[12]).await;
    let rest = join(&b, &["b", "c", "d"]).await;
    settles(&b, &[3, 3, 3, 3]).await;
    drop((first, rest));
}

pub(crate) async fn shares_settle_odd(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    fill(&b, 12).await;
    let all = join(&b, &["a", "b", "c", "d", "e"]).await;
    settles(&b, &[3, 3, 2, 2, 2]).await;
    drop(all);
}

pub(crate) async fn shares_settle_with_more_subscribers_than_partitions(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    fill(&b, 2).await;
    let all = join(&b, &["a", "b", "c", "d"]).await;
    settles(&b, &[1, 1]).await;
    drop(all);
}

pub(crate) async fn the_share_of_one_that_leaves_is_taken(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    fill(&b, 6).await;
    let mut all = join(&b, &["a", "b", "c"]).await;
    settles(&b, &[2, 2, 2]).await;
    all.remove(1).close().await;
    settles(&b, &[3, 3]).await;
    drop(all);
}

pub(crate) async fn the_share_of_one_that_crashes_is_taken(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    fill(&b, 4).await;
    let dead = b.hand("dead", "g", "p00").await;
    promise!(dead.acquire().await, "a free lease can be taken"; "it cannot");
    let heartbeats = b.backend.heartbeats();
    let beat = heartbeats
        .beat(&topic(), &dead.at.group, &dead.subscriber, b.lease())
        .await;
    promise!(beat.is_ok(), "a heartbeat is taken"; "{beat:?}");
    let all = join(&b, &["a", "b"]).await;
    settles(&b, &[2, 2]).await;
    b.until("the dead subscriber is forgotten", async || {
        let listed = heartbeats.list(&topic(), &dead.at.group).await;
        listed.is_ok_and(|l| l.iter().all(|h| h.subscriber != dead.subscriber))
    })
    .await;
    drop(all);
}

pub(crate) async fn what_nobody_comes_for_is_swept(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    fill(&b, 4).await;
    let lazy = b.hand("lazy", "g", "p00").await;
    let heartbeats = b.backend.heartbeats();
    let beat = heartbeats
        .beat(&topic(), &lazy.at.group, &lazy.subscriber, b.lease() * 100)
        .await;
    promise!(beat.is_ok(), "one says that it is there, and takes nothing"; "{beat:?}");
    let all = join(&b, &["a"]).await;
    settles(&b, &[4]).await;
    drop(all);
}

pub(crate) async fn a_drained_partition_is_given_up(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    fill(&b, 3).await;
    let mut all = join(&b, &["a"]).await;
    let mut deliveries = b.take(&mut all[0], 3).await;
    // One stays in hand.
    let kept = deliveries.pop().expect("there are three");
    for delivery in deliveries {
        let acked = delivery.ack().await;
        promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    }
    let extended = kept.extend(b.lease() * 20).await;
    promise!(extended.is_ok(), "an extension in time counts"; "{extended:?}");
    b.elapse(b.lease()).await;
    let shares: Vec<_> = b.shares("g").await.into_values().collect();
    promise!(shares == [3], "after one lease duration all are kept"; "{shares:?}");
    settles(&b, &[1]).await;
    let partition = kept.message().partition.as_str().to_owned();
    let idle = if partition == "p00" { "p01" } else { "p00" };
    b.publish(idle, &["b"]).await;
    let delivery = b.next(&mut all[0]).await;
    promise!(id(&delivery) == "b", "it is taken again when there is something"; "{delivery:?}");
}

pub(crate) async fn rebalancing_loses_nothing(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let all = |n: usize| message(&n.to_string(), &format!("p{:02}", n % 6));
    let mut subscriptions = join(&b, &["a"]).await;
    let mut seen = BTreeSet::new();
    let mut published = 0;
    let wait = Duration::from_millis(20);
    b.until(
        "all 120 messages were acked while subscribers came and went",
        async || {
            if published < 120 {
                let next = (published..published + 20).map(all);
                b.log
                    .publish(TOPIC, next)
                    .await
                    .expect("they are published");
                published += 20;
                match published {
                    40 => subscriptions.extend(join(&b, &["b"]).await),
                    80 => subscriptions.extend(join(&b, &["c"]).await),
                    100 => drop(subscriptions.remove(0)),
                    _ => {}
                }
            }
            for subscription in &mut subscriptions {
                while let Ok(Some(delivery)) = timeout(wait, subscription.next()).await {
                    let name = id(&delivery).to_owned();
                    if delivery.ack().await.is_ok() {
                        seen.insert(name);
                    }
                }
            }
            seen.len() == 120
        },
    )
    .await;
}
