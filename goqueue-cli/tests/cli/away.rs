//! Backends that refuse connections, and such that accept them and never answer.

use std::{net::TcpListener, time::Duration};

use tokio::time::Instant;

use super::program::{file, goqueue, run};

/// What a command may take until it has given up on a backend that it was told not to wait for long.
const PATIENCE: Duration = Duration::from_secs(20);
const SETTINGS: &str = "
enqueue_timeout = \"500ms\"
[redis]
connect_timeout = \"500ms\"
response_timeout = \"500ms\"
[mysql]
acquire_timeout = \"500ms\"
[sqs]
connect_timeout = \"500ms\"
response_timeout = \"500ms\"
";
const ID: &str = "00000000-0000-7000-8000-000000000001";
const COMMANDS: [&[&str]; 11] = [
    &["queues"],
    &["stats", "mail"],
    &["peek", "mail"],
    &["purge", "mail", "--yes"],
    &["enqueue", "mail.welcome", "1"],
    &["dead", "list", "mail"],
    &["dead", "show", "mail", ID],
    &["dead", "retry", "mail", "--all"],
    &["dead", "delete", "mail", ID, "--yes"],
    &["dead", "purge", "mail", "--yes"],
    &["doctor"],
];

/// The backends on a port, each with what its errors have to name.
fn urls(port: u16) -> [(String, &'static str); 4] {
    let sqs = format!(
        "sqs://us-east-1/?endpoint=http://127.0.0.1:{port}&access_key_id=k&secret_access_key=s"
    );
    [
        (format!("redis://127.0.0.1:{port}"), "redis"),
        (format!("redis-cluster://127.0.0.1:{port}"), "redis"),
        (format!("mysql://root@127.0.0.1:{port}/x"), "mysql"),
        (sqs, "sqs"),
    ]
}

fn gives_up(port: u16, commands: &[&[&str]]) {
    for (url, driver) in urls(port) {
        let config = file("away.toml", &format!("driver = \"{url}\"\n{SETTINGS}"));
        for args in commands {
            let since = Instant::now();
            let answer = run(goqueue().args(*args).arg("--config").arg(&config));
            let took = since.elapsed();
            assert!(took < PATIENCE, "{args:?} on {url} took {took:?}");
            assert_eq!(answer.code, Some(1), "{args:?} on {url}: {answer:?}");
            assert!(!answer.stderr.contains("panicked"), "{answer:?}");
            let said = if args[0] == "doctor" {
                answer.stdout
            } else {
                assert_eq!(answer.stdout, "", "{args:?} on {url}");
                assert!(
                    answer.stderr.contains("goqueue doctor"),
                    "{}",
                    answer.stderr
                );
                answer.stderr
            };
            assert!(
                said.contains(&format!("driver `{driver}` ")),
                "{args:?} on {url}: {said}"
            );
        }
        std::fs::remove_file(config).unwrap();
    }
}

#[test]
fn a_backend_that_refuses_connections_is_named_by_every_command() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    gives_up(port, &COMMANDS);
}

#[test]
fn a_backend_that_never_answers_is_not_waited_for() {
    // The kernel accepts for it.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    gives_up(
        port,
        &[&["queues"], &["enqueue", "mail.welcome", "1"], &["doctor"]],
    );
    drop(listener);
}
