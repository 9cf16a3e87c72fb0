//! L3. A dead letter of one group robs no other.

use crate::{
    check::promise,
    log::{
        LogHarness,
        bench::{Bench, id, letters},
    },
};

pub(crate) async fn a_dead_letter_robs_no_other_group(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a"]).await;
    let mut one = b.subscribe(b.config("s", "one")).await;
    let rejected = b.next(&mut one).await.reject("no").await;
    promise!(rejected.is_ok(), "group one gives it up"; "{rejected:?}");
    b.drained("one", "p").await;
    let mut two = b.subscribe(b.config("s", "two")).await;
    let delivery = b.next(&mut two).await;
    promise!(id(&delivery) == "a", "group two reads it all the same"; "{delivery:?}");
}

pub(crate) async fn two_groups_make_two_letters(h: &dyn LogHarness) {
    let b = Bench::new(h).await;
    b.publish("p", &["a"]).await;
    for group in ["one", "two"] {
        let mut subscription = b.subscribe(b.config("s", group)).await;
        let rejected = b
            .next(&mut subscription)
            .await
            .reject(format!("no, says {group}"))
            .await;
        promise!(rejected.is_ok(), "group {group} gives it up"; "{rejected:?}");
        b.drained(group, "p").await;
    }
    let stored = b.stored(&letters()).await;
    let facts: Vec<_> = stored
        .iter()
        .filter_map(|letter| letter.dead_letter())
        .collect();
    let told: Vec<_> = facts
        .iter()
        .map(|f| (f.group.as_str(), f.last_error.as_str()))
        .collect();
    let expected = [("one", "no, says one"), ("two", "no, says two")];
    promise!(told == expected, "each names its group"; "{stored:?}");
    // The same death twice is one letter.
    let hand = b.hand("s", "one", "p").await;
    let reset = b.log.admin().reset_offset(&hand.at, 0).await;
    promise!(matches!(reset, Ok(Some(0))), "group one reads it again"; "{reset:?}");
    let mut subscription = b.subscribe(b.config("s", "one")).await;
    let rejected = b.next(&mut subscription).await.reject("no").await;
    promise!(rejected.is_ok(), "and gives it up again"; "{rejected:?}");
    b.drained("one", "p").await;
    let count = b.stored(&letters()).await.len();
    promise!(count == 2, "there are two letters"; "there are {count}");
}
