//! On SQS, where a waiting job cannot be looked at, and a dead letter is received to be seen.

use std::time::Duration;

use goqueue::{JobId, Queue};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    golden,
    interrupt::stopped,
    jobs::{mail, many_die, three_die, work},
    places::{Kind, Place},
    schema::is_documented,
};

/// Letters enough to be stopped half-way.
const LETTERS: u64 = 2_000;

/// The letters that a list names, by the error they died of. SQS has no order of its own.
fn letters(place: &Place, args: &[&str]) -> Vec<Value> {
    let args = [&["dead", "list", "mail", "--json"], args].concat();
    let list = place.run(&args).json();
    is_documented("goqueue dead list --json", &list);
    let mut letters = list["dead_letters"].as_array().unwrap().clone();
    letters.sort_by_key(|letter| (letter["error"].to_string(), letter["id"].to_string()));
    letters
}

/// Jobs of any state but dead, and dead letters.
async fn counts(queue: &Queue) -> (u64, u64) {
    let stats = queue.inspect().unwrap().stats(&mail()).await.unwrap();
    (stats.ready + stats.scheduled + stats.running, stats.dead)
}

#[tokio::test]
async fn what_sqs_cannot_do_is_refused_by_name_with_what_does_it() {
    for kind in Kind::SQS {
        let place = Place::new(kind).await;
        let enqueue = ["enqueue", "mail.welcome", "{}", "--queue", "mail"];
        place.run(&enqueue).out();
        let mut said = String::new();
        for args in [
            &["peek", "mail"][..],
            &["peek", "mail", "--state", "running"],
            &["log", "topics"],
            &["stats", "mail-dead"],
        ] {
            said += &format!("$ goqueue {}\n", args.join(" "));
            said += &place.run(args).refused(1);
        }
        golden::check("sqs-refused.txt", &said);
        place.leave().await;
    }
    let place = Place::new(Kind::Sqs).await;
    let mut said = String::new();
    for key in ["--unique-key", "--ordering-key"] {
        let args = ["enqueue", "mail.welcome", "{}", "--queue", "mail", key, "k"];
        said += &format!("$ goqueue {}\n", args.join(" "));
        said += &place.run(&args).refused(1);
    }
    let delayed = [
        "enqueue",
        "mail.welcome",
        "{}",
        "--queue",
        "mail",
        "--delay",
        "5m",
    ];
    place.run(&delayed).out();
    let purge = ["purge", "mail", "--yes"];
    said += &format!("$ goqueue {}\n", purge.join(" "));
    said += &place.run(&purge).refused(1);
    golden::check("sqs-refused-standard.txt", &said);
    place.leave().await;
}

#[tokio::test]
async fn queues_are_listed_counted_and_purged() {
    for kind in Kind::SQS {
        let place = Place::new(kind).await;
        golden::check("queues-empty.txt", &place.run(&["queues"]).out());
        for n in ["1", "2"] {
            place
                .run(&["enqueue", "mail.welcome", n, "--queue", "mail"])
                .out();
        }
        golden::check("sqs-queues.txt", &place.run(&["queues"]).out());
        golden::check(
            "sqs-stats.json",
            &place.run(&["stats", "mail", "--json"]).out(),
        );
        let args = [
            "stats",
            "mail",
            "--watch",
            "--count",
            "1",
            "--interval",
            "100ms",
        ];
        let watched = place.run(&args).out();
        assert!(watched.contains("mail"), "{watched}");
        let purged = place.run(&["purge", "mail", "--yes"]).out();
        assert_eq!(purged, "removed 2 jobs of queue `mail`\n");
        place.leave().await;
    }
}

#[tokio::test]
async fn letters_are_found_run_again_and_removed() {
    for kind in Kind::SQS {
        let place = Place::new(kind).await;
        let queue = place.queue().await;
        three_die(&queue).await;
        let all = letters(&place, &[]);
        assert_eq!(all.len(), 3, "{all:#?}");
        assert_eq!(letters(&place, &["--name", "mail.welcome"]).len(), 2);
        assert_eq!(letters(&place, &["--error", "Connection REFUSED"]).len(), 2);
        let permanent = letters(&place, &["--reason", "permanent"]);
        let receipt = permanent[0]["id"].as_str().unwrap();
        let shown = place.run(&["dead", "show", "mail", receipt, "--json"]);
        golden::check("dead-show.json", &shown.out());
        let none = JobId::new().to_string();
        let refused = place.run(&["dead", "show", "mail", &none]).refused(1);
        let expected = format!("queue `mail` has no dead letter `{none}`");
        assert!(refused.contains(&expected), "{refused}");

        let dry = ["dead", "retry", "mail", "--error", "refused", "--dry-run"];
        let dry = place.run(&dry).out();
        assert_eq!(dry, "would retry 2 dead letters of queue `mail`\n");
        assert_eq!(counts(&queue).await, (0, 3));
        let one = place.run(&["dead", "retry", "mail", receipt]).out();
        assert_eq!(one, "retried 1 dead letter of queue `mail`\n");
        let again = place.run(&["dead", "retry", "mail", receipt]);
        assert!(again.stderr.contains("has no dead letter"), "{again:?}");
        assert_eq!(again.out(), "retried 0 dead letters of queue `mail`\n");
        assert_eq!(counts(&queue).await, (1, 2));
        let rest = place
            .run(&["dead", "retry", "mail", "--all", "--json"])
            .json();
        assert_eq!((&rest["matched"], &rest["done"]), (&json!(2), &json!(2)));
        assert_eq!(counts(&queue).await, (3, 0));

        // With the post office open, all but the receipt without a number go through.
        work(&queue, true).await;
        let left = letters(&place, &[]);
        assert_eq!(left.len(), 1, "{left:#?}");
        assert_eq!(left[0]["id"].as_str(), Some(receipt));
        let refused = place.run(&["dead", "purge", "mail"]).refused(2);
        assert!(refused.contains("nothing was changed"), "{refused}");
        let delete = ["dead", "delete", "mail", receipt, "--yes"];
        let deleted = place.run(&delete).out();
        assert_eq!(deleted, "deleted 1 dead letter of queue `mail`\n");
        let purged = place.run(&["dead", "purge", "mail", "--yes"]).out();
        assert_eq!(purged, "deleted 0 dead letters of queue `mail`\n");
        assert_eq!(counts(&queue).await, (0, 0));
        place.leave().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_that_is_stopped_loses_nothing_and_goes_on() {
    let place = Place::new(Kind::Sqs).await;
    let queue = place.queue().await;
    many_die(&queue, LETTERS as usize).await;
    let retry = ["dead", "retry", "mail", "--all"];
    // A letter is sent before its original is deleted, so that there may be one too many between.
    let one_call = 10;
    for (signal, expected) in [(Signal::SIGINT, Some(1)), (Signal::SIGKILL, None)] {
        let (code, said) = stopped(&place, &queue, &retry, signal).await;
        assert_eq!(code, expected, "{said}");
        let (alive, dead) = counts(&queue).await;
        let all = alive + dead;
        assert!(
            (LETTERS..=LETTERS + one_call).contains(&all),
            "{alive} alive, {dead} dead"
        );
        assert!(
            alive > 0 && dead > 0,
            "{alive} alive, {dead} dead: not half-way"
        );
    }
    // What the killed one had received is hidden for up to a minute.
    let patience = Instant::now() + Duration::from_secs(120);
    while counts(&queue).await.1 > 0 {
        assert!(Instant::now() < patience, "{:?}", counts(&queue).await);
        place.run(&retry).out();
        sleep(Duration::from_secs(1)).await;
    }
    let (alive, _) = counts(&queue).await;
    assert!(
        (LETTERS..=LETTERS + one_call).contains(&alive),
        "{alive} alive"
    );
    place.leave().await;
}
