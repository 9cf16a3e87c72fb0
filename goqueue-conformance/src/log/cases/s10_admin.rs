//! The administrative calls.

use std::time::Duration;

use goqueue_core::{
    driver::PageRequest,
    log::{MessageId, store::Settled},
};

use crate::{
    check::promise,
    log::{
        LogHarness,
        bench::{Bench, TOPIC, group, id, ids, key, letters, message, topic},
    },
};

pub(crate) async fn topics_and_messages_are_listed(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let admin = b.log.admin();
    b.publish_many("p", 5).await;
    b.publish_many("q", 3).await;
    b.log
        .publish("invoices", [message("a", "p")])
        .await
        .expect("it is published");
    b.hand("s", "g", "p").await;
    let topics = admin.topics().await.unwrap_or_default();
    let rows: Vec<_> = topics
        .iter()
        .map(|t| (t.topic.as_str(), t.partitions, t.span, t.groups))
        .collect();
    let expected = [("invoices", 1, 1, 0), (TOPIC, 2, 8, 1)];
    promise!(rows == expected, "topics are {expected:?}"; "{rows:?}");
    let stats = admin.stats(&topic(), &letters()).await;
    let is_told = stats.as_ref().is_ok_and(|stats| {
        stats.size.messages == 8
            && stats.partitions == 2
            && stats.groups == [(group("g"), 8)]
            && stats.dead_letters == 0
            && stats.size.bytes == 8 * b"payload of 0".len() as u64
    });
    promise!(is_told, "8 messages in 2 partitions, none read"; "{stats:?}");
    let mut page = PageRequest::first(3);
    let mut all = Vec::new();
    loop {
        let found = admin.messages(&topic(), None, page).await.expect("a page");
        promise!(found.items.len() <= 3, "a page holds three"; "{}", found.items.len());
        all.extend(ids(&found.items));
        let Some(next) = found.next else { break };
        page = PageRequest {
            limit: 3,
            after: Some(next),
        };
    }
    let expected = ["0", "1", "2", "3", "4", "0", "1", "2"];
    promise!(all == expected, "by partition and offset"; "{all:?}");
    let one = admin
        .messages(&topic(), Some(&key("q")), PageRequest::first(2))
        .await;
    let one = one.map(|page| (ids(&page.items), page.next.is_some()));
    let is_part = matches!(&one, Ok((ids, true)) if ids == &["0", "1"]);
    promise!(is_part, "the first two of `q`, and there is more"; "{one:?}");
}

pub(crate) async fn a_message_is_found_with_its_state(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a"]).await;
    b.publish("q", &["a"]).await;
    let hand = b.hand("s", "g", "p").await;
    promise!(hand.acquire().await, "a free lease can be taken"; "it cannot");
    let taken = hand.take(1).await;
    let found = b
        .log
        .admin()
        .message(&topic(), &MessageId::new("a").expect("an id"))
        .await;
    let found = found.unwrap_or_default();
    let of: Vec<_> = found.iter().map(|d| d.message.partition.as_str()).collect();
    promise!(of == ["p", "q"], "it is in both partitions"; "{of:?}");
    let open = &found[0].open;
    let is_told = matches!(&open[..], [(who, state)] if *who == group("g")
        && state.attempt == 1 && !state.invisible_for.is_zero() && !state.is_holding);
    promise!(is_told, "the group has it in hand"; "{open:?}");
    promise!(found[1].open.is_empty(), "the other was not read"; "{:?}", found[1]);
    let nack = goqueue_core::log::store::Verdict::Retry {
        delay: b.lease(),
        error: Some("no".into()),
    };
    hand.settle(&taken[0], nack).await;
    let store = b.backend.deliveries();
    let open = store.open(&hand.at, 10).await.unwrap_or_default();
    let error = open.first().and_then(|state| state.last_error.as_deref());
    promise!(error == Some("no"), "the last error is kept"; "{open:?}");
}

pub(crate) async fn a_deleted_message_is_not_delivered(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a", "b", "c"]).await;
    let hand = b.hand("s", "g", "p").await;
    promise!(hand.acquire().await, "a free lease can be taken"; "it cannot");
    let taken = hand.take(1).await;
    for offset in [1, 2] {
        let deleted = b
            .log
            .admin()
            .delete_message(&topic(), &key("p"), offset)
            .await;
        promise!(matches!(deleted, Ok(true)), "offset {offset} is deleted"; "{deleted:?}");
    }
    let again = b.log.admin().delete_message(&topic(), &key("p"), 2).await;
    promise!(matches!(again, Ok(false)), "once"; "{again:?}");
    let late = hand.ack(&taken[0]).await;
    promise!(late == Settled::Lost, "an ack of what was deleted changes nothing"; "{late:?}");
    let next = hand.take(10).await;
    let ids: Vec<_> = next.iter().map(crate::log::bench::InHand::id).collect();
    promise!(ids == ["c"], "the rest is delivered"; "{ids:?}");
}

pub(crate) async fn a_purged_topic_is_empty_and_works_on(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish_many("p", 5).await;
    b.hand("s", "g", "p").await;
    let purged = b.log.admin().purge_topic(&topic()).await;
    promise!(matches!(purged, Ok(5)), "five are removed"; "{purged:?}");
    let offsets = b.offsets("g", "p").await;
    promise!(offsets.lag() == 0 && offsets.head == 5, "nothing is behind"; "{offsets:?}");
    let published = b.publish("p", &["0"]).await;
    let stored = goqueue_core::log::Published::Stored { offset: 6 };
    promise!(published == [stored], "offsets go on, and ids are free again"; "{published:?}");
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let delivery = b.next(&mut subscription).await;
    promise!(delivery.message().offset == 6, "what comes later is delivered"; "{delivery:?}");
}

pub(crate) async fn lag_is_told_by_group_and_partition(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish_many("p", 4).await;
    b.publish_many("q", 2).await;
    let hand = b.hand("s", "one", "p").await;
    b.hand("s", "two", "p").await;
    promise!(hand.acquire().await, "a free lease can be taken"; "it cannot");
    for item in hand.take(3).await {
        hand.ack(&item).await;
    }
    let told = async |group| {
        let rows = b.log.admin().lag(&topic(), group).await.unwrap_or_default();
        let row = |r: goqueue_core::log::store::GroupOffsets| {
            let (acked, latest, lag) = (r.offsets.watermark, r.offsets.head, r.offsets.lag());
            (
                r.group.to_string(),
                r.offsets.partition.to_string(),
                acked,
                latest,
                lag,
            )
        };
        rows.into_iter().map(row).collect::<Vec<_>>()
    };
    let row = |group: &str, partition: &str, acked, latest, lag| {
        (group.to_owned(), partition.to_owned(), acked, latest, lag)
    };
    let expected = [
        row("one", "p", 3, 4, 1),
        row("one", "q", 0, 2, 2),
        row("two", "p", 0, 4, 4),
        row("two", "q", 0, 2, 2),
    ];
    let all = told(None).await;
    promise!(all == expected, "the lag is {expected:?}"; "{all:?}");
    let one = told(Some(&group("two"))).await;
    promise!(one == expected[2..], "or that of one group"; "{one:?}");
    let ages = b
        .backend
        .messages()
        .ages(&topic(), &[(key("p"), 3), (key("p"), 4)])
        .await;
    let ages = ages.unwrap_or_default();
    let is_told = matches!(&ages[..], [Some(_), None]);
    promise!(is_told, "what lies behind an offset has an age, nothing has none"; "{ages:?}");
}

pub(crate) async fn an_offset_can_be_reset(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish_many("p", 5).await;
    let hand = b.hand("s", "g", "p").await;
    promise!(hand.acquire().await, "a free lease can be taken"; "it cannot");
    let taken = hand.take(5).await;
    hand.ack(&taken[0]).await;
    let admin = b.log.admin();
    for (to, expected) in [(3, 3), (99, 5), (0, 0), (2, 2)] {
        let reset = admin.reset_offset(&hand.at, to).await;
        let is_set = matches!(reset, Ok(Some(set)) if set == expected);
        promise!(is_set, "{to} sets it to {expected}"; "{reset:?}");
        let offsets = b.offsets("g", "p").await;
        promise!(offsets.watermark == expected, "it is {expected}"; "{offsets:?}");
    }
    let late = hand.ack(&taken[4]).await;
    promise!(late == Settled::Lost, "what was in hand is lost"; "{late:?}");
    let next = hand.take(10).await;
    let ids: Vec<_> = next.iter().map(crate::log::bench::InHand::id).collect();
    promise!(ids == ["2", "3", "4"], "it goes on behind offset 2"; "{ids:?}");
    let attempts: Vec<_> = next.iter().map(|m| m.delivered.attempt).collect();
    promise!(attempts == [1, 1, 1], "as if for the first time"; "{attempts:?}");
    let mut nowhere = hand.at.clone();
    nowhere.partition = key("nowhere");
    let reset = admin.reset_offset(&nowhere, 0).await;
    promise!(matches!(reset, Ok(None)), "an unknown partition is told"; "{reset:?}");
}

pub(crate) async fn leases_can_be_listed_and_released(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a"]).await;
    let (one, other) = (
        b.hand("one", "g", "p").await,
        b.hand("other", "g", "p").await,
    );
    promise!(one.acquire().await, "a free lease can be taken"; "it cannot");
    promise!(!other.acquire().await, "one that is held cannot"; "it can");
    let admin = b.log.admin();
    let leases = admin.leases(Some(&topic()), None).await.unwrap_or_default();
    let is_told = matches!(&leases[..], [lease] if lease.at == one.at
        && lease.subscriber == one.subscriber && lease.is_held());
    promise!(is_told, "its holder is told"; "{leases:?}");
    let stale = admin.stale_leases(Duration::ZERO).await.unwrap_or_default();
    promise!(stale.is_empty(), "none is stale"; "{stale:?}");
    b.elapse(b.lease() + b.lease() / 2).await;
    let stale = admin.stale_leases(b.lease() / 4).await.unwrap_or_default();
    promise!(stale.len() == 1, "one that ran out is stale"; "{stale:?}");
    let stale = admin.stale_leases(b.lease() * 10).await.unwrap_or_default();
    promise!(stale.is_empty(), "but not by a longer threshold"; "{stale:?}");
    promise!(other.acquire().await, "one that ran out can be taken"; "it cannot");
    let released = admin.release_lease(&one.at).await;
    promise!(matches!(released, Ok(true)), "it is released"; "{released:?}");
    let released = admin.release_lease(&one.at).await;
    promise!(matches!(released, Ok(false)), "once"; "{released:?}");
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let delivery = b.next(&mut subscription).await;
    promise!(id(&delivery) == "a", "the partition is read"; "{delivery:?}");
}
