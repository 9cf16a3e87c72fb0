//! No password is ever shown, whatever goes wrong.

use super::program::{Answer, file, goqueue, run};

const SECRET: &str = "hunter2";

#[track_caller]
fn hides(answer: &Answer) {
    let shown = format!("{}{}", answer.stdout, answer.stderr);
    assert!(!shown.is_empty() && !shown.contains(SECRET), "{shown}");
}

#[test]
fn no_command_shows_a_password() {
    let urls = [
        "redis://user:hunter2@127.0.0.1:1/0",
        "redis-cluster://:hunter2@127.0.0.1:1",
        "redis+unix:///nowhere?pass=hunter2",
        "mysql://user:hunter2@127.0.0.1:1/shop",
        "mysql://user:hunter2#@127.0.0.1:1/shop",
        "sqs://us-east-1/?endpoint=http://127.0.0.1:1&access_key_id=key&secret_access_key=hunter2",
        "sqs://us-east-1/?endpoint=http://127.0.0.1:1&access_key_id=key&secret_access_key=secret\
         &session_token=hunter2",
        "sqs://us-east-1/?secret_access_key=hunter2",
        "hunter2",
        "kafka://user:hunter2@h",
    ];
    let commands: [&[&str]; 6] = [
        &["queues"],
        &["doctor"],
        &["doctor", "--json"],
        &["config", "check"],
        &["migrate"],
        &["queues", "-v"],
    ];
    for url in urls {
        for args in commands {
            hides(&run(goqueue().args(args).args(["--driver", url])));
            hides(&run(goqueue().args(args).env("GOQUEUE_DRIVER", url)));
        }
        // Pasted into the wrong place.
        if url.contains('@') {
            hides(&run(goqueue().args(["queues", url])));
            hides(&run(goqueue().args(["stats", url])));
        }
    }
}

#[test]
fn no_credential_of_sqs_is_shown_by_any_command() {
    let table = "[sqs]\naccess_key_id = \"key\"\nsecret_access_key = \"hunter2\"\n\
                 session_token = \"hunter2\"\nendpoint = \"http://127.0.0.1:1\"\n";
    let good = format!("driver = \"sqs://us-east-1/shop-\"\n{table}");
    // Each is wrong in its own way, and is quoted.
    let bad = [
        format!("{good}max_delay = \"1h\"\n"),
        format!("{good}response_time = \"1s\"\n"),
        format!("driver = \"sqs://AKIA:hunter2@us-east-1/\"\n{table}"),
        "driver = \"sqs://us-east-1/\"\n[sqs]\nsession_token = \"hunter2\"\n".to_owned(),
    ];
    let commands: [&[&str]; 11] = [
        &["config", "check"],
        &["config", "check", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["queues", "-v"],
        &["stats", "mail", "--watch", "--count", "1"],
        &["peek", "mail"],
        &["enqueue", "n", "1"],
        &["purge", "mail", "--yes"],
        &["dead", "list", "mail"],
        &["dead", "retry", "mail", "--all"],
    ];
    for toml in bad.iter().chain([&good]) {
        let path = file("sqs.toml", toml);
        for args in commands {
            let answer = run(goqueue().args(args).arg("--config").arg(&path));
            hides(&answer);
            let reads = ["config", "doctor"].contains(&args[0]) && *toml == good;
            assert!(answer.code == Some(1) || reads, "{args:?} {answer:?}");
        }
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn no_setting_that_sounds_like_a_secret_is_shown() {
    let toml = "driver = \"redis://127.0.0.1:1\"\n[redis]\npassword = \"hunter2\"\n[mysql]\napi_token = \"hunter2\"\n";
    let path = file("secret.toml", toml);
    for args in [&["config", "check"][..], &["doctor"], &["queues"]] {
        hides(&run(goqueue().args(args).arg("--config").arg(&path)));
    }
    std::fs::remove_file(path).unwrap();
}
