//! The diagnosis, on servers that are well and on none.

use super::{
    places::{Kind, Place},
    program::{goqueue, run},
};

/// Each check with its status.
fn findings(answer: &serde_json::Value) -> Vec<(String, String)> {
    let findings = answer["findings"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    findings
        .map(|finding| (text(&finding["check"]), text(&finding["status"])))
        .collect()
}

#[tokio::test]
async fn servers_that_are_well_have_nothing_to_mend() {
    for kind in Kind::ALL {
        let place = Place::new(kind).await;
        if kind == Kind::Mysql {
            let before = place.run(&["doctor"]).out();
            assert!(
                before.contains(
                    "warning  schema version         there are no tables `goqueue_*` yet"
                ),
                "{before}"
            );
            let migrated = place.run(&["migrate"]).out();
            assert!(
                migrated.starts_with("the tables were of version 0, and are of version "),
                "{migrated}"
            );
            let again = place.run(&["migrate"]).out();
            assert!(again.ends_with(": nothing to do\n"), "{again}");
        } else {
            let driver = if Kind::SQS.contains(&kind) {
                "sqs"
            } else {
                "redis"
            };
            let nothing = place.run(&["migrate"]).out();
            assert_eq!(
                nothing,
                format!("driver `{driver}` has no tables to bring up to date: nothing to do\n")
            );
            // SQS has queues from their first use on.
            place.run(&["enqueue", "n", "1"]).out();
        }
        let answer = place.run(&["doctor", "--json"]).json();
        let found = findings(&answer);
        let bad: Vec<_> = found
            .iter()
            .filter(|(_, status)| status == "problem" || status == "unknown")
            .collect();
        assert!(bad.is_empty(), "{answer:#}");
        let expected: &[&str] = match kind {
            Kind::Redis => &[
                "eviction policy",
                "persistence",
                "permissions",
                "wake-ups",
                "role",
            ],
            Kind::RedisCluster => &["cluster slots", "eviction policy", "permissions"],
            Kind::Mysql => &[
                "schema version",
                "isolation level",
                "time zone",
                "index plan",
                "permissions",
                "log",
            ],
            Kind::Sqs | Kind::SqsFifo => &["permissions", "queues", "redrive policy", "retention"],
        };
        let mut common = vec![
            "configuration",
            "reachable",
            "clock offset",
            "lease against timeout",
        ];
        if !Kind::SQS.contains(&kind) {
            common.push("version");
        }
        for check in expected.iter().chain(&common) {
            let status = found
                .iter()
                .find(|(name, _)| name == check)
                .map(|(_, status)| status.as_str());
            assert_eq!(status, Some("good"), "{check}: {answer:#}");
        }
        let text = place.run(&["doctor"]).out();
        assert!(text.contains(" to watch, 0 to mend\n"), "{text}");
        place.leave().await;
    }
}

#[test]
fn a_server_that_is_not_there_is_a_problem_with_a_fix() {
    for url in [
        "redis://127.0.0.1:1",
        "redis-cluster://127.0.0.1:1",
        "mysql://root@127.0.0.1:1/x",
    ] {
        let answer = run(goqueue().args(["doctor", "--driver", url]));
        assert_eq!(answer.code, Some(1), "{answer:?}");
        assert!(answer.stdout.contains("problem  reachable"), "{answer:?}");
        assert!(
            answer.stdout.contains("-> see that a server runs"),
            "{answer:?}"
        );
        assert!(answer.stdout.ends_with(" 1 to mend\n"), "{answer:?}");
    }
}

#[test]
fn a_configuration_that_cannot_be_used_is_a_problem() {
    let answer = run(goqueue().args(["doctor", "--driver", "mysql://h"]));
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(
        answer
            .stdout
            .contains("problem  configuration  config key `driver`: the URL names no database"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn wrong_logins_and_databases_say_what_to_correct() {
    let url = Kind::Mysql.url();
    let (scheme, rest) = url.split_once("://").unwrap();
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let host = host.split('/').next().unwrap();
    let stranger = format!("{scheme}://stranger:hunter2@{host}/mysql");
    let answer = run(goqueue().args(["doctor"]).env("GOQUEUE_DRIVER", stranger));
    assert!(
        answer
            .stdout
            .contains("-> correct the user and the password in the URL"),
        "{answer:?}"
    );
    assert!(!answer.stdout.contains("hunter2"), "{answer:?}");
    let nowhere = format!("{}/goqueue_nowhere", super::places::server_of(&url));
    let answer = run(goqueue().args(["doctor"]).env("GOQUEUE_DRIVER", nowhere));
    assert!(
        answer
            .stdout
            .contains("-> create the database, or correct its name"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn tables_that_are_missing_are_a_problem_where_nobody_makes_them() {
    let place = Place::with(Kind::Mysql, "mysql.auto_migrate = false").await;
    let answer = place.run(&["doctor"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(
        answer
            .stdout
            .contains("-> `goqueue migrate`, as a user who may"),
        "{answer:?}"
    );
    let said = place.run(&["queues"]).refused(1);
    assert!(said.contains("run `goqueue migrate`"), "{said}");
    place.run(&["migrate"]).out();
    place.run(&["doctor"]).out();
    place
        .sql("ALTER TABLE goqueue_dead_letters ENGINE = MyISAM")
        .await;
    let answer = place.run(&["doctor"]);
    assert!(
        answer
            .stdout
            .contains("-> `ALTER TABLE goqueue_dead_letters ENGINE = InnoDB`"),
        "{answer:?}"
    );
    place.leave().await;
}
