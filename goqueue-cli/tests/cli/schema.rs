//! `docs/src/json-output.md` and what the command answers have the same fields, of the same kinds.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use goqueue::{Queue, driver::NewJob};
use serde_json::Value;

use super::{
    jobs::{Receipt, Welcome, fail_once, three_die},
    places::{Kind, Place},
    program::{goqueue, run},
};

/// Fields, each with the kinds of its values: from the table below the heading.
type Fields = BTreeMap<String, BTreeSet<String>>;

fn documented(command: &str) -> Fields {
    let page = include_str!("../../../docs/src/json-output.md");
    let heading = format!("\n## `{command}`\n");
    let section = page
        .split_once(&heading)
        .unwrap_or_else(|| panic!("no heading `{command}`"))
        .1;
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let mut cells = row.split('|').map(str::trim);
        let field = cells.next().unwrap().trim_end_matches('`');
        let kinds = cells.next().unwrap().split(" or ").map(str::to_owned);
        (field.to_owned(), kinds.collect())
    })
    .collect()
}

/// What is in a value. A field that is documented as any value, or as text under any key, is not
/// looked into.
fn seen(value: &Value, path: &str, known: &Fields, into: &mut Fields) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_any = known
        .get(path)
        .is_some_and(|kinds| kinds.contains("any JSON"));
    let kind = if is_any && kind != "null" {
        "any JSON"
    } else {
        kind
    };
    if !path.is_empty() {
        into.entry(path.to_owned()).or_default().insert(kind.into());
    }
    match value {
        Value::Object(_) if is_any || (!path.is_empty() && known.contains_key(path)) => {}
        Value::Object(entries) => {
            for (key, value) in entries {
                let dot = if path.is_empty() { "" } else { "." };
                seen(value, &format!("{path}{dot}{key}"), known, into);
            }
        }
        Value::Array(items) if !is_any => {
            for item in items {
                if item.is_object() {
                    for (key, value) in item.as_object().unwrap() {
                        seen(value, &format!("{path}[].{key}"), known, into);
                    }
                }
            }
        }
        _ => {}
    }
}

#[track_caller]
pub(super) fn compare(command: &str, answers: &[Value]) {
    let known = documented(command);
    let mut found = Fields::new();
    for answer in answers {
        seen(answer, "", &known, &mut found);
    }
    assert_eq!(
        found, known,
        "`{command}`: what is answered (left) and what is documented (right)"
    );
}

/// The same fields, where an answer need not have values of every kind that is documented.
#[track_caller]
fn compare_fields(command: &str, answer: &Value) {
    let known = documented(command);
    let mut found = Fields::new();
    seen(answer, "", &known, &mut found);
    let names = |fields: &Fields| fields.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&known), "`{command}`: {answer:#}");
    for (field, kinds) in &found {
        assert!(
            kinds.is_subset(&known[field]),
            "`{command}`: `{field}` is {kinds:?} and documented as {:?}",
            known[field]
        );
    }
}

#[tokio::test]
async fn sqs_answers_with_the_same_fields() {
    for kind in Kind::SQS {
        let place = Place::new(kind).await;
        let queue = place.queue().await;
        three_die(&queue).await;
        let json = |args: &[&str]| place.run(&[args, &["--json"]].concat()).json();
        let stored = json(&["enqueue", "n", "1", "--queue", "mail"]);
        compare_fields("goqueue enqueue --json", &stored);
        compare_fields("goqueue queues --json", &json(&["queues"]));
        compare_fields("goqueue stats --json", &json(&["stats", "mail"]));
        let watched = json(&["stats", "mail", "--watch", "--count", "1"]);
        compare_fields("goqueue stats --watch --json", &watched);
        compare_fields(
            "goqueue dead list --json",
            &json(&["dead", "list", "mail", "--limit", "1"]),
        );
        let all = json(&["dead", "list", "mail"]);
        let id = all["dead_letters"][0]["id"].as_str().unwrap();
        compare_fields(
            "goqueue dead show --json",
            &json(&["dead", "show", "mail", id]),
        );
        for args in [
            &["dead", "retry", "mail", "--all", "--dry-run"][..],
            &["dead", "retry", "mail", id],
            &["dead", "delete", "mail", "--name", "mail.welcome", "--yes"],
            &["dead", "purge", "mail", "--yes"],
        ] {
            let answer = json(args);
            compare_fields("goqueue dead retry --json", &answer);
        }
        compare_fields("goqueue purge --json", &json(&["purge", "mail", "--yes"]));
        compare_fields("goqueue config check --json", &json(&["config", "check"]));
        let diagnosed = place.run(&["doctor", "--json"]);
        assert!(!diagnosed.stdout.contains("test-secret"), "{diagnosed:?}");
        let diagnosed = serde_json::from_str(&diagnosed.stdout).unwrap();
        compare_fields("goqueue doctor --json", &diagnosed);
        place.leave().await;
    }
}

#[tokio::test]
async fn every_field_is_documented_and_every_documented_field_is_there() {
    for kind in [Kind::Redis, Kind::Mysql] {
        let place = Place::new(kind).await;
        let queue = place.queue().await;
        // One with everything that a job may have, those without, and one that is no job.
        let full = queue
            .enqueue(Welcome { user_id: 9 })
            .unique_key("u")
            .ordering_key("o");
        full.timeout(Duration::from_secs(5)).await.unwrap();
        queue.driver().push(vec![no_job(&queue)]).await.unwrap();
        three_die(&queue).await;
        fail_once(&queue).await;
        let json = |args: &[&str]| place.run(&[args, &["--json"]].concat()).json();
        let enqueue = |args: &[&str]| {
            place
                .run(&[&["enqueue", "mail.welcome", "{}", "--queue"], args].concat())
                .out();
        };
        enqueue(&[
            "mail",
            "--ordering-key",
            "o",
            "--unique-key",
            "u",
            "--timeout",
            "5s",
            "--max-attempts",
            "3",
            "--header",
            "a=b",
        ]);
        enqueue(&["mail"]);
        enqueue(&["mail", "--delay", "1h"]);
        queue.driver().push(vec![no_job(&queue)]).await.unwrap();

        enqueue(&["idle"]);
        place.run(&["purge", "idle", "--yes"]).out();
        compare("goqueue queues --json", &[json(&["queues"])]);
        let quiet = json(&["stats", "nobody"]);
        compare("goqueue stats --json", &[json(&["stats", "mail"]), quiet]);
        compare(
            "goqueue peek --json",
            &[
                json(&["peek", "mail"]),
                json(&["peek", "mail", "--limit", "1"]),
                json(&["peek", "mail", "--state", "scheduled"]),
            ],
        );
        compare(
            "goqueue dead list --json",
            &[
                json(&["dead", "list", "mail"]),
                json(&["dead", "list", "mail", "--limit", "1"]),
            ],
        );
        let ids: Vec<String> = json(&["dead", "list", "mail"])["dead_letters"]
            .as_array()
            .unwrap()
            .iter()
            .map(|letter| letter["id"].as_str().unwrap().to_owned())
            .collect();
        let shown: Vec<Value> = ids
            .iter()
            .map(|id| json(&["dead", "show", "mail", id]))
            .collect();
        compare("goqueue dead show --json", &shown);
        let dry = ["dead", "retry", "mail", "--all", "--dry-run"];
        compare(
            "goqueue dead retry --json",
            &[
                json(&dry),
                json(&["dead", "delete", "mail", "--all", "--yes"]),
            ],
        );
        compare("goqueue purge --json", &[json(&["purge", "mail", "--yes"])]);
        compare("goqueue enqueue --json", &[json(&["enqueue", "n", "1"])]);
        let watched = place.run(&[
            "stats",
            "mail",
            "nobody",
            "default",
            "--watch",
            "--count",
            "2",
            "--interval",
            "100ms",
            "--json",
        ]);
        let lines: Vec<Value> = watched
            .out()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2);
        let mut watched = lines;
        // What a backend that is away looks like, which a line of this test cannot.
        watched.push(serde_json::json!({ "at": 0, "error": "no answer", "queues": [] }));
        compare("goqueue stats --watch --json", &watched);
        compare("goqueue config check --json", &[json(&["config", "check"])]);
        let broken = run(goqueue().args(["doctor", "--json", "--driver", "redis://127.0.0.1:1"]));
        let broken = serde_json::from_str(&broken.stdout).unwrap();
        compare("goqueue doctor --json", &[json(&["doctor"]), broken]);
        place.leave().await;
    }
}

fn no_job(queue: &Queue) -> NewJob {
    let order = "1".into();
    NewJob {
        body: "broken".into(),
        ..queue.enqueue(Receipt { order }).into_new_job().unwrap()
    }
}
