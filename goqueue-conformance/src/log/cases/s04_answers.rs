//! What a consumer may answer.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    check::promise,
    log::{
        LogHarness,
        bench::{Bench, id},
    },
};

pub(crate) async fn an_unanswered_message_comes_back_when_its_visibility_ends(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a"]).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let before = Instant::now();
    drop(b.next(&mut subscription).await);
    let taken = Instant::now();
    let again = b.next(&mut subscription).await;
    let (longest, shortest) = (before.elapsed(), taken.elapsed());
    // Up to a third of the visibility may pass before a message is handed out.
    let least = b.lease() / 2;
    promise!(
        again.attempt() == 2 && shortest >= least,
        "it is delivered again, as attempt 2, after a visibility of {:?}",
        b.lease();
        "{again:?} after {shortest:?} to {longest:?}"
    );
}

pub(crate) async fn an_extended_message_stays_away_and_keeps_its_attempt(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a"]).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let delivery = b.next(&mut subscription).await;
    for _ in 0..4 {
        b.nothing(&mut subscription, b.lease() / 2, "it is extended")
            .await;
        let extended = delivery.extend(b.lease()).await;
        promise!(extended.is_ok(), "an extension in time counts"; "{extended:?}");
    }
    drop(delivery);
    let again = b.next(&mut subscription).await;
    promise!(again.attempt() == 2, "four extensions cost no attempt"; "{again:?}");
}

pub(crate) async fn a_nack_hides_the_message_for_its_delay(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a"]).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let delivery = b.next(&mut subscription).await;
    let delay = b.lease() / 2;
    let before = Instant::now();
    let nacked = delivery.nack(delay).await;
    promise!(nacked.is_ok(), "a nack in time counts"; "{nacked:?}");
    let again = b.next(&mut subscription).await;
    let after = before.elapsed();
    promise!(
        again.attempt() == 2 && after >= delay,
        "it is delivered again after {delay:?}";
        "{again:?} after {after:?}"
    );
}

pub(crate) async fn a_nack_without_a_delay_follows_the_schedule(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let mut config = b.config("s", "g");
    config.retry.max_attempts = 5;
    let initial = config.retry.initial_backoff;
    b.publish("p", &["a"]).await;
    let mut subscription = b.subscribe(config).await;
    for attempt in 1..=3 {
        let delivery = b.next(&mut subscription).await;
        promise!(delivery.attempt() == attempt, "this is attempt {attempt}"; "{delivery:?}");
        let (before, due) = (Instant::now(), initial * 2_u32.pow(attempt - 1));
        let nacked = delivery.nack(Duration::ZERO).await;
        promise!(nacked.is_ok(), "a nack in time counts"; "{nacked:?}");
        let again = b.next(&mut subscription).await;
        let after = before.elapsed();
        promise!(after >= due, "after attempt {attempt} it waits {due:?}"; "it waited {after:?}");
        // Given back unseen, so that the next round counts it.
        let postponed = again.postpone(Duration::ZERO).await;
        promise!(postponed.is_ok(), "a postponement in time counts"; "{postponed:?}");
    }
}

pub(crate) async fn a_nack_blocks_nobody(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a", "b", "c"]).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let first = b.next(&mut subscription).await;
    let nacked = first.nack(b.lease()).await;
    promise!(nacked.is_ok(), "a nack in time counts"; "{nacked:?}");
    for expected in ["b", "c", "a"] {
        let delivery = b.next(&mut subscription).await;
        promise!(id(&delivery) == expected, "`{expected}` is next"; "{delivery:?}");
        let acked = delivery.ack().await;
        promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    }
    b.drained("g", "p").await;
}

pub(crate) async fn a_postponed_message_holds_its_partition(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let mut config = b.config("s", "g");
    config.batch_size = 2;
    b.publish("p", &["a"]).await;
    let mut subscription = b.subscribe(config).await;
    let delivery = b.next(&mut subscription).await;
    let (before, delay) = (Instant::now(), b.lease() / 2);
    let postponed = delivery.postpone(delay).await;
    promise!(postponed.is_ok(), "a postponement in time counts"; "{postponed:?}");
    b.publish("p", &["b"]).await;
    b.publish("other", &["x"]).await;
    let other = b.next(&mut subscription).await;
    promise!(id(&other) == "x", "other partitions are not held"; "{other:?}");
    let again = b.next(&mut subscription).await;
    let after = before.elapsed();
    promise!(
        id(&again) == "a" && again.attempt() == 1 && after >= delay,
        "`a` is next, after {delay:?}, and has spent no attempt";
        "{again:?} after {after:?}"
    );
    let next = b.next(&mut subscription).await;
    promise!(id(&next) == "b", "then `b`"; "{next:?}");
}

pub(crate) async fn an_acked_message_is_gone_for_good(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a", "b"]).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    for delivery in b.take(&mut subscription, 2).await {
        let acked = delivery.ack().await;
        promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    }
    b.nothing(&mut subscription, b.lease() * 2, "all is acked")
        .await;
    subscription.close().await;
    let mut later = b.subscribe(b.config("later", "g")).await;
    b.nothing(
        &mut later,
        b.lease() * 2,
        "all is acked, for a later subscriber too",
    )
    .await;
}

pub(crate) async fn attempts_survive_a_crash(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a"]).await;
    for attempt in 1..=4 {
        let hand = b.hand(&format!("h{attempt}"), "g", "p").await;
        promise!(hand.acquire().await, "a lease that ran out can be taken"; "it cannot");
        let taken = hand.take(10).await;
        let attempts: Vec<_> = taken.iter().map(|m| m.delivered.attempt).collect();
        promise!(attempts == [attempt], "this is attempt {attempt}"; "{attempts:?}");
        // Lease and visibility run out.
        b.elapse(b.lease() + Duration::from_millis(50)).await;
    }
}
