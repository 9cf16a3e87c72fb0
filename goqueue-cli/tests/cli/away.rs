//! Backends that are not there: every command ends soon, and says why.

use std::{
    process::{Child, Stdio},
    time::Duration,
};

use tokio::{
    net::TcpListener,
    time::{Instant, sleep},
};

use super::program::goqueue;

/// Until then each command has ended, also where a driver tries several times. Many of them run at
/// once on few processors.
const PATIENCE: Duration = Duration::from_secs(60);
const SECRET: &str = "hunter2";
const ID: &str = "0190a8f1-7c3e-7b4a-9d2e-3f1a5b6c7d8e";

const COMMANDS: [&[&str]; 13] = [
    &["queues"],
    &["queues", "--json"],
    &["stats", "mail"],
    &["stats", "--watch"],
    &["peek", "mail"],
    &["enqueue", "n", "1"],
    &["purge", "mail", "--yes"],
    &["dead", "list", "mail"],
    &["dead", "show", "mail", ID],
    &["dead", "retry", "mail", "--all"],
    &["dead", "delete", "mail", ID, "--yes"],
    &["dead", "purge", "mail", "--yes"],
    &["doctor"],
];
/// Where the tables and the log are on the backend.
const ON_TABLES: [&[&str]; 2] = [&["migrate"], &["log", "topics"]];

/// A driver's name, and its URL on a port of this machine.
fn urls(port: u16) -> [(&'static str, String); 5] {
    let sqs = |fifo: bool| {
        format!(
            "sqs://us-east-1/shop-?fifo={fifo}&endpoint=http://127.0.0.1:{port}&access_key_id=key\
             &secret_access_key={SECRET}&session_token={SECRET}"
        )
    };
    [
        ("redis", format!("redis://:{SECRET}@127.0.0.1:{port}/0")),
        (
            "redis",
            format!("redis-cluster://:{SECRET}@127.0.0.1:{port}"),
        ),
        (
            "mysql",
            format!("mysql://root:{SECRET}@127.0.0.1:{port}/shop"),
        ),
        ("sqs", sqs(false)),
        ("sqs", sqs(true)),
    ]
}

/// One call of the command that has begun.
struct Call {
    driver: &'static str,
    args: Vec<&'static str>,
    child: Child,
}

impl Call {
    fn begin(driver: &'static str, url: &str, args: &[&'static str]) -> Self {
        let mut command = goqueue();
        command.args(args).env("GOQUEUE_DRIVER", url);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let args = args.to_vec();
        Self {
            driver,
            args,
            child,
        }
    }

    async fn ends_well(mut self, until: Instant) {
        let what = format!("{} on {}", self.args.join(" "), self.driver);
        while self.child.try_wait().unwrap().is_none() {
            if Instant::now() > until {
                self.child.kill().unwrap();
                panic!("`{what}` does not end");
            }
            sleep(Duration::from_millis(20)).await;
        }
        let output = self.child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let answer = String::from_utf8(output.stdout).unwrap();
        assert!(!said.contains("panicked"), "`{what}`: {said}");
        assert!(
            !format!("{said}{answer}").contains(SECRET),
            "`{what}`: {said}{answer}"
        );
        if self.args == ["doctor"] {
            // What it finds is tested with each driver.
            assert!(answer.contains("configuration"), "`{what}`: {said}{answer}");
            return;
        }
        assert_eq!(output.status.code(), Some(1), "`{what}`: {said}{answer}");
        assert_eq!(answer, "", "`{what}`");
        let driver = format!("driver `{}", self.driver);
        assert!(
            said.starts_with("goqueue: ") && said.contains(&driver),
            "`{what}`: {said}"
        );
        let advice = "help: it may pass by itself; `goqueue doctor` looks for the cause";
        assert!(said.contains(advice), "`{what}`: {said}");
    }
}

async fn every_command_ends(port: u16) {
    let until = Instant::now() + PATIENCE;
    let urls = urls(port);
    let calls: Vec<Call> = urls
        .iter()
        .flat_map(|(driver, url)| {
            let more = if *driver == "mysql" {
                &ON_TABLES[..]
            } else {
                &[]
            };
            let all = COMMANDS.iter().chain(more);
            all.map(|args| Call::begin(driver, url, args))
        })
        .collect();
    for call in calls {
        call.ends_well(until).await;
    }
}

#[tokio::test]
async fn on_a_port_that_refuses() {
    every_command_ends(1).await;
}

#[tokio::test]
async fn on_a_port_that_accepts_and_never_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let silent = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((connection, _)) = listener.accept().await {
            held.push(connection);
        }
    });
    every_command_ends(port).await;
    assert!(!silent.is_finished(), "it listened all the while");
    silent.abort();
}
