//! What is given up is kept as a message of the dead letters' topic.

use std::time::Duration;

use goqueue_core::log::{DeadLetterFacts, Letters, Message};

use crate::{
    check::promise,
    log::{
        LogHarness,
        bench::{Bench, LETTERS, TOPIC, id, letters, message},
    },
};

/// Waits for the only dead letter.
async fn letter(b: &Bench<'_>) -> (Message, DeadLetterFacts) {
    b.until("there is a dead letter", async || {
        !b.stored(&letters()).await.is_empty()
    })
    .await;
    let mut stored = b.stored(&letters()).await;
    promise!(stored.len() == 1, "there is one dead letter"; "{stored:?}");
    let letter = stored.remove(0);
    let Some(facts) = letter.dead_letter() else {
        panic!("expected: a dead letter says what it is\nhappened: {letter:?}")
    };
    (letter, facts)
}

pub(crate) async fn a_message_that_keeps_failing_becomes_a_dead_letter(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let new = message("a", "p").metadata("tenant", "acme");
    b.log.publish(TOPIC, [new]).await.expect("it is published");
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    for attempt in 1..=3 {
        let delivery = b.next(&mut subscription).await;
        promise!(
            delivery.attempt() == attempt && delivery.is_last_attempt() == (attempt == 3),
            "this is attempt {attempt} of 3";
            "{delivery:?}"
        );
        let delay = Duration::from_millis(1);
        let nacked = delivery.nack_because(delay, format!("no {attempt}")).await;
        promise!(nacked.is_ok(), "a nack in time counts"; "{nacked:?}");
    }
    let (letter, facts) = letter(&b).await;
    promise!(
        *letter.payload == *b"payload of a"
            && letter.partition.as_str() == "p"
            && letter.metadata.get("tenant").map(String::as_str) == Some("acme"),
        "it keeps payload, partition key and metadata";
        "{letter:?}"
    );
    promise!(
        facts.failure_count == 3
            && facts.last_error == "no 3"
            && facts.original_topic.as_str() == TOPIC
            && facts.original_id.as_str() == "a"
            && facts.original_offset == 1
            && facts.group.as_str() == "g"
            && facts.failed_at > 1_500_000_000_000,
        "it tells its story";
        "{facts:?}"
    );
    b.drained("g", "p").await;
    b.nothing(&mut subscription, b.lease() * 2, "the message is given up")
        .await;
    let report = subscription.close().await;
    promise!(report.nacked == 2 && report.dead_lettered == 1, "it is counted"; "{report:?}");
}

pub(crate) async fn a_rejected_message_is_a_dead_letter_at_once(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a"]).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let rejected = b
        .next(&mut subscription)
        .await
        .reject("it makes no sense")
        .await;
    promise!(rejected.is_ok(), "a rejection in time counts"; "{rejected:?}");
    let (_, facts) = letter(&b).await;
    promise!(
        facts.failure_count == 1 && facts.last_error == "it makes no sense",
        "it tells why";
        "{facts:?}"
    );
}

pub(crate) async fn a_message_that_is_never_answered_becomes_a_dead_letter(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let mut config = b.config("s", "g");
    config.retry.max_attempts = 2;
    config.visibility_timeout = b.lease() / 4;
    b.publish("p", &["a"]).await;
    let mut subscription = b.subscribe(config).await;
    for attempt in 1..=2 {
        let delivery = b.next(&mut subscription).await;
        promise!(delivery.attempt() == attempt, "this is attempt {attempt}"; "{delivery:?}");
    }
    let (_, facts) = letter(&b).await;
    promise!(
        facts.failure_count == 2 && facts.last_error.contains("lost"),
        "it says that its consumer was lost, and was not delivered a third time";
        "{facts:?}"
    );
}

pub(crate) async fn without_dead_letters_a_message_is_dropped(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    let mut config = b.config("s", "g");
    config.dead_letters.enabled = false;
    b.publish("p", &["a"]).await;
    let mut subscription = b.subscribe(config).await;
    let rejected = b.next(&mut subscription).await.reject("no").await;
    promise!(rejected.is_ok(), "a rejection in time counts"; "{rejected:?}");
    b.drained("g", "p").await;
    let stored = b.stored(&letters()).await;
    promise!(stored.is_empty(), "there is no dead letter"; "{stored:?}");
    let report = subscription.close().await;
    promise!(report.dropped == 1, "it is counted as dropped"; "{report:?}");
}

pub(crate) async fn dead_letters_can_be_read_like_any_topic(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a"]).await;
    let mut subscription = b.subscribe(b.config("s", "g")).await;
    let rejected = b.next(&mut subscription).await.reject("no").await;
    promise!(rejected.is_ok(), "a rejection in time counts"; "{rejected:?}");
    let config = b.config("mender", "menders").for_dead_letters();
    let dead = b.log.subscribe(LETTERS, config).await;
    let mut dead = dead.unwrap_or_else(|error| panic!("subscribing failed: {error}"));
    for attempt in 1..=5 {
        let delivery = b.next(&mut dead).await;
        let facts = delivery.message().dead_letter();
        promise!(facts.is_some() && !delivery.is_last_attempt(), "a letter comes"; "{delivery:?}");
        promise!(delivery.attempt() == attempt, "again and again"; "{delivery:?}");
        let nacked = delivery.nack(Duration::from_millis(1)).await;
        promise!(nacked.is_ok(), "a nack in time counts"; "{nacked:?}");
    }
    let acked = b.next(&mut dead).await.ack().await;
    promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
}

pub(crate) async fn a_requeued_letter_comes_back_to_its_group_alone(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a"]).await;
    // Known from now on: the message is kept until this group has read it.
    b.hand("h", "third", "p").await;
    let mut billing = b.subscribe(b.config("s", "billing")).await;
    let mut mail = b.subscribe(b.config("s", "mail")).await;
    let acked = b.next(&mut mail).await.ack().await;
    promise!(acked.is_ok(), "the other group acks it"; "{acked:?}");
    for round in 0..2 {
        let delivery = b.next(&mut billing).await;
        promise!(
            *delivery.message().payload == *b"payload of a" && delivery.attempt() == 1,
            "it comes with its payload and no attempt spent, round {round}";
            "{delivery:?}"
        );
        let rejected = delivery.reject("no").await;
        promise!(rejected.is_ok(), "a rejection in time counts"; "{rejected:?}");
        letter(&b).await;
        let moved = b.log.admin().requeue(&letters(), &Letters::All).await;
        promise!(matches!(moved, Ok(1)), "one letter is moved"; "{moved:?}");
        let left = b.stored(&letters()).await;
        promise!(left.is_empty(), "no letter is left"; "{left:?}");
    }
    let last = b.next(&mut billing).await;
    promise!(last.message().dead_letter().is_none(), "it is no letter any more"; "{last:?}");
    let acked = last.ack().await;
    promise!(acked.is_ok(), "an ack in time counts"; "{acked:?}");
    b.drained("billing", "p").await;
    b.drained("mail", "p").await;
    b.nothing(&mut mail, b.lease() / 4, "the other group had acked it")
        .await;
    let report = mail.close().await;
    promise!(report.delivered == 1, "the other group saw it once"; "{report:?}");
    let unknown = [goqueue_core::log::MessageId::new("nobody").expect("an id")];
    let moved = b
        .log
        .admin()
        .requeue(&letters(), &Letters::Ids(unknown.to_vec()))
        .await;
    promise!(matches!(moved, Ok(0)), "what is not there is not moved"; "{moved:?}");
    promise!(id(&b.next(&mut { b.subscribe(b.config("t", "third")).await }).await) == "a",
        "a group that comes later reads the message itself"; "it does not");
}
