//! What SQS does in its own way: what it refuses, and what it counts.

use super::{
    golden,
    jobs::three_die,
    places::{Kind, Place},
};

/// Runs commands that have to be refused, and writes down each with what was said.
fn refusals(place: &Place, commands: &[&[&str]]) -> String {
    let mut text = String::new();
    for args in commands {
        let said = place.run(args).refused(1);
        text += &format!("$ goqueue {}\n{said}\n", args.join(" "));
    }
    text
}

#[tokio::test]
async fn what_it_cannot_do_is_refused_by_name_with_what_to_use_instead() {
    for (kind, name) in [
        (Kind::Sqs, "sqs-refusals.txt"),
        (Kind::SqsFifo, "sqs-fifo-refusals.txt"),
    ] {
        let place = Place::new(kind).await;
        let stored = place.run(&["enqueue", "n", "1", "--queue", "mail", "--delay", "1h"]);
        stored.out();
        let mut commands: Vec<&[&str]> = vec![
            &["peek", "mail"],
            &["peek", "mail", "--state", "running", "--json"],
            &["log", "topics"],
            &["enqueue", "n", "1", "--queue", "mail-dead"],
        ];
        if kind == Kind::Sqs {
            commands.extend([
                &["purge", "mail", "--yes"][..],
                &["enqueue", "n", "1", "--unique-key", "k"],
                &["enqueue", "n", "1", "--ordering-key", "k"],
            ]);
        }
        golden::check(name, &refusals(&place, &commands));
        let stats = place.run(&["stats", "mail", "--json"]).json();
        let line = &stats["queues"][0];
        let stored = ["ready", "scheduled", "running"].map(|state| line[state].as_u64().unwrap());
        assert_eq!(
            stored.iter().sum::<u64>(),
            1,
            "the job is still there: {stats}"
        );
        place.leave().await;
    }
}

#[tokio::test]
async fn queues_are_counted_enqueued_and_purged() {
    for kind in Kind::SQS {
        let place = Place::new(kind).await;
        let none = place.run(&["queues"]);
        assert_eq!(none.stderr, "note: no queue has been used here yet\n");
        let queue = place.queue().await;
        three_die(&queue).await;
        for n in 0..25 {
            let payload = n.to_string();
            let id = place
                .run(&["enqueue", "n", &payload, "--queue", "mail"])
                .out();
            assert_eq!(id.trim().len(), 36, "{id}");
        }
        place
            .run(&["enqueue", "report.nightly", "null", "--queue", "re.port"])
            .out();
        golden::check("sqs-queues.txt", &place.run(&["queues"]).out());
        golden::check("sqs-stats.txt", &place.run(&["stats", "mail"]).out());

        let refused = place.run(&["purge", "mail"]).refused(2);
        assert!(
            refused.contains("this removes 25 jobs of queue `mail` for good; nothing was changed"),
            "{refused}"
        );
        let purged = place.run(&["purge", "mail", "--yes"]).out();
        assert_eq!(purged, "removed 25 jobs of queue `mail`\n");
        let purged = place.run(&["purge", "mail", "--yes", "--json"]).json();
        assert_eq!(purged, serde_json::json!({ "queue": "mail", "done": 0 }));
        let stats = place.run(&["stats", "mail", "--json"]).json();
        assert_eq!(stats["queues"][0]["dead"], 3, "dead letters stay: {stats}");

        let nothing = place.run(&["migrate"]).out();
        let expected = "driver `sqs` has no tables to bring up to date: nothing to do\n";
        assert_eq!(nothing, expected);
        place.leave().await;
    }
}

#[tokio::test]
async fn a_list_goes_on_where_it_ended_and_shows_the_letters_again() {
    for kind in Kind::SQS {
        let place = Place::new(kind).await;
        three_die(&place.queue().await).await;
        let mut seen = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let mut args = vec!["dead", "list", "mail", "--limit", "1", "--json"];
            if let Some(after) = &after {
                args.extend(["--after", after]);
            }
            let page = place.run(&args).json();
            let letters = page["dead_letters"].as_array().unwrap();
            seen.extend(letters.iter().map(|letter| letter["id"].to_string()));
            match page["next"].as_str() {
                Some(next) => after = Some(next.into()),
                None => break,
            }
        }
        assert_eq!(seen.len(), 3);
        assert!(seen.is_sorted(), "{seen:?}");
        let refused = place
            .run(&["dead", "list", "mail", "--after", "nonsense"])
            .refused(1);
        assert!(refused.contains("invalid page cursor"), "{refused}");
        place.leave().await;
    }
}
