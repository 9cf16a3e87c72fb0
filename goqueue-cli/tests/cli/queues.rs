//! Counting, listing, enqueueing and purging, on every backend.

use std::{io::Write, process::Stdio};

use super::{
    golden,
    jobs::{three_die, work},
    places::{Kind, Place},
};

#[tokio::test]
async fn backends_that_list_jobs_answer_alike() {
    for kind in Kind::LISTING {
        let place = Place::new(kind).await;
        golden::check("queues-empty.txt", &place.run(&["queues"]).out());

        let queue = place.queue().await;
        three_die(&queue).await;
        let payload = r#"{"user_id": 3, "lang": "de"}"#;
        let stored = place
            .run(&["enqueue", "mail.welcome", payload, "--queue", "mail"])
            .out();
        assert_eq!(stored.trim().len(), 36, "{stored}");
        place
            .run(&[
                "enqueue",
                "mail.welcome",
                "[1.10]",
                "--queue",
                "mail",
                "--delay",
                "2h",
                "--max-attempts",
                "7",
                "--timeout",
                "30s",
                "--header",
                "request=r-18",
                "--ordering-key",
                "user-3",
            ])
            .out();
        place.run(&["enqueue", "report.nightly", "null"]).out();

        golden::check("queues.txt", &place.run(&["queues"]).out());
        golden::check("queues.json", &place.run(&["queues", "--json"]).out());
        golden::check("stats.txt", &place.run(&["stats", "mail"]).out());
        golden::check("peek-ready.txt", &place.run(&["peek", "mail"]).out());
        golden::check(
            "peek-ready.json",
            &place.run(&["peek", "mail", "--json"]).out(),
        );
        let scheduled = ["peek", "mail", "--state", "scheduled"];
        golden::check("peek-scheduled.txt", &place.run(&scheduled).out());
        let scheduled = ["peek", "mail", "--state", "scheduled", "--json"];
        golden::check("peek-scheduled.json", &place.run(&scheduled).out());

        let purged = place.run(&["purge", "mail", "--yes"]).out();
        assert_eq!(purged, "removed 2 jobs of queue `mail`\n");
        let purged = place.run(&["purge", "mail", "--yes", "--json"]).json();
        assert_eq!(purged, serde_json::json!({ "queue": "mail", "done": 0 }));
        golden::check("queues-purged.txt", &place.run(&["queues"]).out());
        place.leave().await;
    }
}

#[tokio::test]
async fn a_job_is_read_from_the_standard_input_and_stored_once_per_key() {
    for kind in Kind::LISTING {
        let place = Place::new(kind).await;
        let args = [
            "enqueue",
            "mail.welcome",
            "-",
            "--queue",
            "mail",
            "--unique-key",
            "w-1",
            "--json",
        ];
        let mut answers = Vec::new();
        for _ in 0..2 {
            let mut child = place
                .command(&args)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut input = child.stdin.take().unwrap();
            input.write_all(b"{ \"user_id\": 4 }\n").unwrap();
            drop(input);
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success());
            answers.push(serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap());
        }
        assert_eq!(answers[0]["id"], answers[1]["id"]);
        assert_eq!(
            (&answers[0]["duplicate"], &answers[1]["duplicate"]),
            (&false.into(), &true.into())
        );

        let queue = place.queue().await;
        work(&queue, true).await;
        let stats = place.run(&["stats", "mail", "--json"]).json();
        assert_eq!(
            stats["queues"][0]["dead"], 0,
            "the job did not run: {stats}"
        );
        place.leave().await;
    }
}

#[tokio::test]
async fn a_long_list_goes_on_where_it_ended() {
    for kind in Kind::LISTING {
        let place = Place::new(kind).await;
        for n in 0..5 {
            place
                .run(&["enqueue", "n", &n.to_string(), "--queue", "mail"])
                .out();
        }
        let mut seen = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let mut args = vec!["peek", "mail", "--limit", "2", "--json"];
            if let Some(after) = &after {
                args.extend(["--after", after]);
            }
            let page = place.run(&args).json();
            let jobs = page["jobs"].as_array().unwrap();
            seen.extend(jobs.iter().map(|job| job["payload"].as_u64().unwrap()));
            match page["next"].as_str() {
                Some(next) => after = Some(next.into()),
                None => break,
            }
        }
        assert_eq!(seen, [0, 1, 2, 3, 4]);
        let refused = place
            .run(&["peek", "mail", "--after", "nonsense"])
            .refused(1);
        assert!(refused.contains("invalid page"), "{refused}");
        place.leave().await;
    }
}

#[tokio::test]
async fn a_name_that_nobody_used_is_pointed_out() {
    let place = Place::new(Kind::Redis).await;
    place.run(&["enqueue", "n", "1", "--queue", "mail"]).out();
    let answer = place.run(&["stats", "mial"]);
    let expected = "note: queue `mial` has never been used here; did you mean `mail`?\n";
    assert_eq!(answer.stderr, expected);
    let answer = place.run(&["dead", "list", "completely-else"]);
    assert!(
        answer
            .stderr
            .contains("`goqueue queues` lists those that have"),
        "{answer:?}"
    );
    place.leave().await;
}
