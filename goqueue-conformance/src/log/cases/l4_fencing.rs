//! L4. Once another has been delivered a message, a late answer changes nothing.

use std::time::Duration;

use goqueue_core::{
    Error,
    log::store::{Dead, OpenMessage, Settled, Verdict},
};

use crate::{
    check::promise,
    log::{
        LogHarness,
        bench::{Bench, Hand, InHand, letters},
    },
};

/// A message in the hands of one whose lease and visibility ran out, and in those of another since.
async fn overtaken(b: &Bench<'_>) -> (Hand, InHand, Hand, InHand) {
    b.publish("p", &["a"]).await;
    let (old, new) = (b.hand("old", "g", "p").await, b.hand("new", "g", "p").await);
    promise!(old.acquire().await, "a free lease can be taken"; "it cannot");
    let first = old.take(1).await.remove(0);
    b.elapse(b.lease() + Duration::from_millis(50)).await;
    promise!(new.acquire().await, "a lease that ran out can be taken"; "it cannot");
    let second = new.take(1).await.remove(0);
    promise!(second.delivered.attempt == 2, "it is attempt 2"; "{second:?}");
    (old, first, new, second)
}

pub(crate) async fn an_answer_after_another_delivery_is_refused(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let (old, first, new, second) = overtaken(&b).await;
    let dead = Dead {
        topic: letters(),
        attempts: 1,
        error: "late".into(),
    };
    let delay = Duration::ZERO;
    for verdict in [
        Verdict::Ack,
        Verdict::Retry { delay, error: None },
        Verdict::Postpone { delay },
        Verdict::Release,
        Verdict::Dead(dead),
    ] {
        let late = old.settle(&first, verdict.clone()).await;
        promise!(late == Settled::Lost, "a late answer is refused"; "{verdict:?}: {late:?}");
        let open = b
            .backend
            .deliveries()
            .open(&old.at, 10)
            .await
            .unwrap_or_default();
        let is_kept = matches!(&open[..], [state] if state.attempt == 2
            && !state.invisible_for.is_zero() && !state.is_holding);
        promise!(is_kept, "and undoes nothing of the new holder's"; "{verdict:?}: {open:?}");
    }
    let stored = b.stored(&letters()).await;
    promise!(stored.is_empty(), "there is no dead letter"; "{stored:?}");
    let acked = new.ack(&second).await;
    promise!(acked == Settled::Done, "the new holder's ack counts"; "{acked:?}");
    let again = new.ack(&second).await;
    promise!(again == Settled::Lost, "once"; "{again:?}");
    // The same by way of a subscription.
    b.publish("q", &["b"]).await;
    let mut config = b.config("s", "g");
    config.visibility_timeout = b.lease() / 4;
    let mut subscription = b.subscribe(config).await;
    let late = b.next(&mut subscription).await;
    let current = b.next(&mut subscription).await;
    let refused = late.ack().await;
    let is_lost = matches!(refused, Err(Error::LeaseLost { .. }));
    promise!(is_lost, "a delivery that was repeated is lost"; "{refused:?}");
    let acked = current.ack().await;
    promise!(acked.is_ok(), "the last one is not"; "{acked:?}");
}

pub(crate) async fn an_answer_after_a_lost_lease_counts_until_then(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a", "b"]).await;
    let (old, new) = (b.hand("old", "g", "p").await, b.hand("new", "g", "p").await);
    promise!(old.acquire().await, "a free lease can be taken"; "it cannot");
    let taken = old.take(2).await;
    old.release().await;
    promise!(new.acquire().await, "a released lease can be taken"; "it cannot");
    let none = new.take(10).await;
    promise!(none.is_empty(), "what is in hand is not delivered twice"; "{none:?}");
    let acked = old.ack(&taken[0]).await;
    promise!(acked == Settled::Done, "nobody else was given it: the ack counts"; "{acked:?}");
    b.elapse(b.lease() + Duration::from_millis(50)).await;
    let acked = old.ack(&taken[1]).await;
    promise!(acked == Settled::Done, "also after its visibility"; "{acked:?}");
    let offsets = b.offsets("g", "p").await;
    promise!(offsets.lag() == 0, "all is acked"; "{offsets:?}");
}

pub(crate) async fn a_fetch_needs_the_lease(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a"]).await;
    let (one, other) = (b.hand("one", "g", "p").await, b.hand("one", "g", "p").await);
    let without = one.fetch(1).await;
    promise!(without.is_none(), "there is no fetch without a lease"; "{without:?}");
    promise!(one.acquire().await, "a free lease can be taken"; "it cannot");
    let foreign = other.fetch(1).await;
    promise!(foreign.is_none(), "nor with that of another of the same name"; "{foreign:?}");
    b.elapse(b.lease() + Duration::from_millis(50)).await;
    let late = one.fetch(1).await;
    promise!(late.is_none(), "nor with one that ran out"; "{late:?}");
    promise!(one.acquire().await, "it can be taken again"; "it cannot");
    let taken = one.take(1).await;
    let attempts: Vec<_> = taken.iter().map(|m| m.delivered.attempt).collect();
    promise!(attempts == [1], "nothing had been taken before"; "{attempts:?}");
}

pub(crate) async fn an_extension_after_another_delivery_is_refused(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let (old, first, _, second) = overtaken(&b).await;
    let item = |in_hand: &InHand| OpenMessage {
        partition: old.at.partition.clone(),
        offset: in_hand.delivered.message.offset,
        receipt: in_hand.receipt,
    };
    let store = b.backend.deliveries();
    let both = [item(&first), item(&second)];
    let extended = store
        .extend(&old.at.topic, &old.at.group, &both, b.lease() * 5)
        .await;
    let is_told = matches!(extended.as_deref(), Ok([Settled::Lost, Settled::Done]));
    promise!(is_told, "one is lost and one is not"; "{extended:?}");
    let open = store.open(&old.at, 10).await.unwrap_or_default();
    let is_kept = matches!(&open[..], [state] if state.attempt == 2
        && state.invisible_for > b.lease() * 4);
    promise!(is_kept, "an extension moves the end alone"; "{open:?}");
}
