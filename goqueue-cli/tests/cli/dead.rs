//! Dead letters: listed, shown, run again, removed.

use goqueue::{JobId, driver::PageRequest, prelude::*};

use super::{
    golden,
    jobs::{Welcome, mail, three_die, work},
    places::{Kind, Place},
};

fn ids(place: &Place, args: &[&str]) -> Vec<String> {
    let args = [&["dead", "list", "mail", "--json"], args].concat();
    let list = place.run(&args).json();
    let letters = list["dead_letters"].as_array().unwrap();
    letters
        .iter()
        .map(|letter| letter["id"].as_str().unwrap().to_owned())
        .collect()
}

/// Ready, dead.
async fn counts(queue: &Queue) -> (u64, u64) {
    let stats = queue.inspect().unwrap().stats(&mail()).await.unwrap();
    (stats.ready, stats.dead)
}

#[tokio::test]
async fn letters_are_listed_and_shown_alike_on_every_backend() {
    for kind in Kind::ALL {
        let place = Place::new(kind).await;
        three_die(&place.queue().await).await;
        golden::check("dead-list.txt", &place.run(&["dead", "list", "mail"]).out());
        golden::check(
            "dead-list.json",
            &place.run(&["dead", "list", "mail", "--json"]).out(),
        );
        let ids = ids(&place, &[]);
        golden::check(
            "dead-show.txt",
            &place.run(&["dead", "show", "mail", &ids[0]]).out(),
        );
        let shown = place
            .run(&["dead", "show", "mail", &ids[2], "--json"])
            .out();
        golden::check("dead-show.json", &shown);

        let none = JobId::new().to_string();
        let refused = place.run(&["dead", "show", "mail", &none]).refused(1);
        assert!(
            refused.contains(&format!("queue `mail` has no dead letter `{none}`")),
            "{refused}"
        );
        place.leave().await;
    }
}

#[tokio::test]
async fn some_are_chosen_by_name_error_and_reason() {
    for kind in Kind::ALL {
        let place = Place::new(kind).await;
        three_die(&place.queue().await).await;
        let of = |args: &[&str]| ids(&place, args).len();
        assert_eq!(of(&["--name", "mail.welcome"]), 2);
        assert_eq!(of(&["--error", "Connection REFUSED"]), 2);
        assert_eq!(of(&["--reason", "permanent"]), 1);
        assert_eq!(of(&["--name", "mail.welcome", "--reason", "permanent"]), 0);
        // The second page of a list with a condition begins where the first ended.
        let args = [
            "dead",
            "list",
            "mail",
            "--name",
            "mail.welcome",
            "--limit",
            "1",
            "--json",
        ];
        let first = place.run(&args).json();
        let next = first["next"].as_str().unwrap();
        let rest = ids(&place, &["--name", "mail.welcome", "--after", next]);
        assert_eq!(rest, ids(&place, &["--name", "mail.welcome"])[1..]);
        place.leave().await;
    }
}

#[tokio::test]
async fn one_some_and_all_run_again_and_saying_it_twice_changes_nothing() {
    for kind in Kind::ALL {
        let place = Place::new(kind).await;
        let queue = place.queue().await;
        three_die(&queue).await;
        let ids = ids(&place, &[]);

        let dry = place
            .run(&["dead", "retry", "mail", "--error", "refused", "--dry-run"])
            .out();
        assert_eq!(dry, "would retry 2 dead letters of queue `mail`\n");
        assert_eq!(counts(&queue).await, (0, 3));

        let one = place.run(&["dead", "retry", "mail", &ids[0]]).out();
        assert_eq!(one, "retried 1 dead letter of queue `mail`\n");
        assert_eq!(counts(&queue).await, (1, 2));
        let again = place.run(&["dead", "retry", "mail", &ids[0]]);
        assert!(again.stderr.contains("has no dead letter"), "{again:?}");
        assert_eq!(again.out(), "retried 0 dead letters of queue `mail`\n");
        assert_eq!(counts(&queue).await, (1, 2));

        let some = place
            .run(&["dead", "retry", "mail", "--name", "mail.welcome", "--json"])
            .json();
        let expected = serde_json::json!({
            "queue": "mail", "matched": 1, "done": 1, "dry_run": false, "interrupted": false,
        });
        assert_eq!(some, expected);
        let all = place.run(&["dead", "retry", "mail", "--all"]).out();
        assert_eq!(all, "retried 1 dead letter of queue `mail`\n");
        assert_eq!(counts(&queue).await, (3, 0));

        // With the post office open, all but the receipt without a number go through.
        work(&queue, true).await;
        let inspect = queue.inspect().unwrap();
        let left = inspect
            .dead_letters(&mail(), PageRequest::first(10))
            .await
            .unwrap();
        let left: Vec<String> = left
            .items
            .iter()
            .map(|letter| letter.id.to_string())
            .collect();
        assert_eq!(left, [ids[2].clone()]);
        place.leave().await;
    }
}

#[tokio::test]
async fn a_letter_whose_key_is_taken_stays() {
    for kind in Kind::LISTING {
        let place = Place::new(kind).await;
        let queue = place.queue().await;
        queue
            .enqueue(Welcome { user_id: 1 })
            .unique_key("w")
            .await
            .unwrap();
        work(&queue, false).await;
        queue
            .enqueue(Welcome { user_id: 1 })
            .unique_key("w")
            .await
            .unwrap();
        let answer = place.run(&["dead", "retry", "mail", "--all"]);
        assert!(
            answer
                .stderr
                .contains("while a live job has its unique key"),
            "{answer:?}"
        );
        assert_eq!(answer.out(), "retried 0 dead letters of queue `mail`\n");
        assert_eq!(counts(&queue).await, (1, 1));
        place.leave().await;
    }
}

#[tokio::test]
async fn nothing_is_removed_without_a_yes() {
    for kind in Kind::ALL {
        let place = Place::new(kind).await;
        let queue = place.queue().await;
        three_die(&queue).await;
        for (args, what) in [
            (
                &["dead", "delete", "mail", "--reason", "permanent"][..],
                "1 dead letter",
            ),
            (&["dead", "purge", "mail"], "3 dead letters"),
        ] {
            let refused = place.run(args).refused(2);
            let expected = format!(
                "goqueue: this deletes {what} of queue `mail` for good; nothing was changed\n  help: \
                 there is no terminal to ask at: say `--yes` if that is what you want\n"
            );
            assert_eq!(refused, expected);
        }
        let refused = place.run(&["dead", "delete", "mail", "--yes"]).refused(2);
        assert!(
            refused.contains("which dead letters? name their ids, or say `--all`"),
            "{refused}"
        );
        assert_eq!(counts(&queue).await, (0, 3));

        let args = ["dead", "delete", "mail", "--reason", "permanent", "--yes"];
        assert_eq!(
            place.run(&args).out(),
            "deleted 1 dead letter of queue `mail`\n"
        );
        assert_eq!(counts(&queue).await, (0, 2));
        let purged = place.run(&["dead", "purge", "mail", "--yes"]).out();
        assert_eq!(purged, "deleted 2 dead letters of queue `mail`\n");
        let purged = place.run(&["dead", "purge", "mail", "--yes"]).out();
        assert_eq!(purged, "deleted 0 dead letters of queue `mail`\n");
        assert_eq!(counts(&queue).await, (0, 0));
        place.leave().await;
    }
}

#[tokio::test]
async fn letters_that_are_named_twice_or_not_there_are_counted_as_what_they_are() {
    for kind in Kind::ALL {
        let place = Place::new(kind).await;
        let queue = place.queue().await;
        three_die(&queue).await;
        let ids = ids(&place, &[]);
        let none = JobId::new().to_string();
        let named = ["dead", "delete", "mail", &ids[1], &ids[1], &none];
        let refused = place.run(&named).refused(2);
        assert!(
            refused.contains("this deletes 1 dead letter of queue `mail`"),
            "{refused}"
        );
        let dry = place.run(&[&named[..], &["--dry-run"]].concat()).out();
        assert_eq!(dry, "would delete 1 dead letter of queue `mail`\n");
        let done = place.run(&[&named[..], &["--yes"]].concat());
        let note = format!("note: queue `mail` has no dead letter `{none}`");
        let is_told = done.stderr.contains(&note) && !done.stderr.contains(&ids[1]);
        assert!(is_told, "{done:?}");
        assert_eq!(done.out(), "deleted 1 dead letter of queue `mail`\n");
        let left = self::ids(&place, &[]);
        assert_eq!(left, [ids[0].clone(), ids[2].clone()]);
        place.leave().await;
    }
}

#[tokio::test]
async fn what_is_no_job_is_shown_and_named_harmless() {
    let place = Place::new(Kind::Mysql).await;
    let queue = place.queue().await;
    let body = "not \u{1b}[31mred";
    let job = goqueue::driver::NewJob {
        id: JobId::new(),
        queue: mail(),
        body: body.to_owned().into(),
        delay: std::time::Duration::ZERO,
        ordering_key: None,
        unique: None,
    };
    queue.driver().push(vec![job]).await.unwrap();
    work(&queue, true).await;
    let ids = ids(&place, &["--reason", "undecodable"]);
    let shown = place.run(&["dead", "show", "mail", &ids[0]]).out();
    assert!(
        shown.contains("name          (cannot be read)\n"),
        "{shown}"
    );
    assert!(
        shown.contains("stored bytes\n  not \\u{1b}[31mred\n"),
        "{shown}"
    );
    assert!(!shown.contains('\u{1b}'), "{shown}");
    place.leave().await;
}
