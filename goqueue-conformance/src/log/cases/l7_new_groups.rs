//! L7. A new group holds back collection from its first moment on; an abandoned one not for ever.

use std::time::Duration;

use goqueue_core::log::{
    StartFrom,
    store::{CollectRequest, Collected},
};

use crate::{
    check::promise,
    log::{
        LogHarness,
        bench::{Bench, group, id, ids, topic},
    },
};

async fn collect(b: &Bench<'_>, retention: Option<Duration>) -> Collected {
    let request = CollectRequest {
        topic: topic(),
        retention,
        max: 1_000,
    };
    let collected = b.backend.transactions().collect(&request).await;
    collected.unwrap_or_else(|error| panic!("no collection: {error}"))
}

pub(crate) async fn a_new_group_starts_where_it_says(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["old"]).await;
    let mut config = b.config("s", "late");
    config.start_from = StartFrom::End;
    let mut late = b.subscribe(config.clone()).await;
    b.publish("p", &["new"]).await;
    b.publish("q", &["first"]).await;
    let mut seen: Vec<_> = b
        .take(&mut late, 2)
        .await
        .iter()
        .map(|d| id(d).to_owned())
        .collect();
    seen.sort();
    promise!(seen == ["first", "new"], "at the end: what comes from then on"; "{seen:?}");
    late.close().await;
    config.group = "early".into();
    config.start_from = StartFrom::Beginning;
    let mut early = b.subscribe(config.clone()).await;
    let taken = b.take(&mut early, 3).await;
    let mut seen: Vec<_> = taken.into_iter().map(|d| id(&d).to_owned()).collect();
    seen.sort();
    promise!(seen == ["first", "new", "old"], "at the beginning: everything"; "{seen:?}");
    early.close().await;
    // A group that is known already goes on where it was.
    b.elapse(b.lease() + Duration::from_millis(50)).await;
    config.start_from = StartFrom::End;
    let mut again = b.subscribe(config).await;
    let mut seen: Vec<_> = b
        .take(&mut again, 3)
        .await
        .iter()
        .map(|d| id(d).to_owned())
        .collect();
    seen.sort();
    promise!(seen == ["first", "new", "old"], "a known group skips nothing"; "{seen:?}");
}

pub(crate) async fn a_new_group_holds_back_collection(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish_many("p", 4).await;
    let hand = b.hand("s", "one", "p").await;
    let store = b.backend.offsets();
    let registered = store
        .register(&topic(), &group("two"), StartFrom::Beginning)
        .await;
    promise!(matches!(registered, Ok(true)), "group two is new"; "{registered:?}");
    let again = store
        .register(&topic(), &group("one"), StartFrom::Beginning)
        .await;
    promise!(matches!(again, Ok(false)), "group one is not"; "{again:?}");
    promise!(hand.acquire().await, "a free lease can be taken"; "it cannot");
    for item in hand.take(10).await {
        hand.ack(&item).await;
    }
    b.publish_many("later", 2).await;
    let collected = collect(&b, None).await;
    promise!(collected.acked == 0, "group two has read nothing yet"; "{collected:?}");
    let mut two = b.subscribe(b.config("s", "two")).await;
    let mut seen: Vec<_> = b
        .take(&mut two, 6)
        .await
        .iter()
        .map(|d| id(d).to_owned())
        .collect();
    seen.sort();
    promise!(seen == ["0", "0", "1", "1", "2", "3"], "and finds everything"; "{seen:?}");
}

pub(crate) async fn an_abandoned_group_does_not_keep_the_log(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish_many("p", 4).await;
    let hand = b.hand("s", "busy", "p").await;
    let gone = b.hand("s", "gone", "p").await;
    promise!(hand.acquire().await && gone.acquire().await, "free leases can be taken"; "they cannot");
    for item in hand.take(10).await {
        hand.ack(&item).await;
    }
    // It has one in hand, and is never seen again.
    let in_hand = gone.take(1).await;
    b.elapse(Duration::from_secs(3)).await;
    b.publish("p", &["young"]).await;
    let collected = collect(&b, Some(Duration::from_secs(2))).await;
    let is_told = collected.acked == 0
        && matches!(&collected.expired[..], [expired] if expired.messages == 4
            && expired.partition.as_str() == "p" && expired.groups == [group("gone")]);
    promise!(is_told, "four are given up, unread by `gone`"; "{collected:?}");
    let left = ids(&b.stored(&topic()).await);
    promise!(left == ["young"], "the young one is kept"; "{left:?}");
    let offsets = b.offsets("gone", "p").await;
    promise!(offsets.lag() == 1, "`gone` is behind by what is there"; "{offsets:?}");
    let late = gone.ack(&in_hand[0]).await;
    let lost = goqueue_core::log::store::Settled::Lost;
    promise!(late == lost, "what it had in hand is lost"; "{late:?}");
    let mut back = b.subscribe(b.config("s", "gone")).await;
    let delivery = b.next(&mut back).await;
    promise!(id(&delivery) == "young", "it goes on with what is there"; "{delivery:?}");
}
