//! A message of the same topic, partition key and id is stored once, and said to be a duplicate.

use futures_util::future::join_all;
use goqueue_core::log::Published::{Duplicate, Stored};

use crate::{
    check::promise,
    log::{
        LogHarness,
        bench::{Bench, TOPIC, id, message, topic},
    },
};

pub(crate) async fn a_duplicate_is_told(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let first = b.publish("p", &["a", "b"]).await;
    let stored = [Stored { offset: 1 }, Stored { offset: 2 }];
    promise!(first == stored, "both are stored"; "{first:?}");
    let second = b.publish("p", &["b", "c"]).await;
    let told = [Duplicate { offset: 2 }, Stored { offset: 3 }];
    promise!(second == told, "`b` is a duplicate of offset 2, `c` is stored"; "{second:?}");
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let taken = b.take(&mut subscription, 3).await;
    let ids: Vec<_> = taken.iter().map(id).collect();
    promise!(ids == ["a", "b", "c"], "each is delivered once"; "{ids:?}");
}

pub(crate) async fn a_duplicate_within_a_batch_is_told(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let published = b.publish("p", &["a", "a", "b", "a"]).await;
    let told = [
        Stored { offset: 1 },
        Duplicate { offset: 1 },
        Stored { offset: 2 },
        Duplicate { offset: 1 },
    ];
    promise!(published == told, "two are stored, without a gap"; "{published:?}");
    let count = b.stored(&topic()).await.len();
    promise!(count == 2, "two are stored"; "{count}");
}

/// However a store cuts a long call up: what it has stored of it before it meets a duplicate is none.
pub(crate) async fn duplicates_anywhere_in_a_long_call_are_told(h: &dyn LogHarness) {
    const KNOWN: [usize; 3] = [150, 200, 299];
    let b = Bench::new(h).await;
    let known = KNOWN.map(|n| n.to_string());
    b.publish("p", &known.each_ref().map(String::as_str)).await;
    let all: Vec<_> = (0..300).map(|n| n.to_string()).collect();
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    let published = b.publish("p", &all).await;
    let mut next = KNOWN.len() as u64;
    let told: Vec<_> = (0..all.len())
        .map(|n| match KNOWN.iter().position(|known| *known == n) {
            Some(place) => Duplicate {
                offset: place as u64 + 1,
            },
            None => {
                next += 1;
                Stored { offset: next }
            }
        })
        .collect();
    promise!(published == told, "297 are stored, without a gap"; "{published:?}");
    let count = b.stored(&topic()).await.len();
    promise!(count == 300, "each is there once"; "{count}");
}

pub(crate) async fn ids_are_compared_within_a_partition_of_a_topic(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a"]).await;
    let other_partition = b.publish("q", &["a"]).await;
    promise!(other_partition == [Stored { offset: 1 }], "another partition"; "{other_partition:?}");
    let case = b.publish("p", &["A", "a "]).await;
    let stored = [Stored { offset: 2 }, Stored { offset: 3 }];
    promise!(case == stored, "ids are compared byte by byte"; "{case:?}");
    let other_topic = b.log.publish("invoices", [message("a", "p")]).await;
    let is_stored = matches!(other_topic.as_deref(), Ok([Stored { offset: 1 }]));
    promise!(is_stored, "another topic"; "{other_topic:?}");
}

pub(crate) async fn one_of_many_at_once_is_stored(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let publishers = (0..8).map(|_| {
        let log = b.log.clone();
        tokio::spawn(async move { log.publish(TOPIC, [message("a", "p")]).await })
    });
    let mut stored = 0;
    for published in join_all(publishers).await {
        let published = published.expect("the publisher ends");
        let Ok([one]) = published.as_deref() else {
            panic!("expected: an answer\nhappened: {published:?}")
        };
        promise!(one.offset() == 1, "all name the one that is there"; "{one:?}");
        stored += usize::from(!one.is_duplicate());
    }
    promise!(stored == 1, "one of eight is stored"; "{stored} say so");
    let count = b.stored(&topic()).await.len();
    promise!(count == 1, "one is there"; "{count}");
}
