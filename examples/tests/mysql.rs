//! The examples on MySQL do what they say, on the server that `cargo xtask test` starts.

#![cfg(feature = "mysql")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

use goqueue::mysql::sqlx::{AssertSqlSafe, Connection, MySqlConnection, raw_sql};

/// An empty database on the server of the tests.
struct Database {
    server: String,
    name: String,
}

impl Database {
    async fn new(example: &str) -> Self {
        let url = std::env::var("GOQUEUE_TEST_MYSQL_URL")
            .expect("GOQUEUE_TEST_MYSQL_URL is not set: `cargo xtask test` starts the server");
        let (scheme, rest) = url.split_once("://").unwrap();
        let database = Self {
            server: format!("{scheme}://{}", rest.split('/').next().unwrap()),
            name: format!("goqueue_{example}_{}", std::process::id()),
        };
        let create = format!("CREATE DATABASE {}", database.name);
        database.run(create).await;
        database
    }

    async fn run(&self, statement: String) {
        let mut connection = MySqlConnection::connect(&format!("{}/mysql", self.server))
            .await
            .unwrap();
        raw_sql(AssertSqlSafe(statement))
            .execute(&mut connection)
            .await
            .unwrap();
    }

    /// What an example says when it is given the URL of the database, which is dropped after that.
    async fn said_by(self, example: &str) -> String {
        let test = std::env::current_exe().unwrap();
        let built = test.parent().unwrap().parent().unwrap();
        let output = Command::new(built.join("examples").join(example))
            .arg(format!("{}/{}", self.server, self.name))
            .env_remove("GOQUEUE_DRIVER")
            .output()
            .expect("`cargo test --features mysql` builds the example");
        self.run(format!("DROP DATABASE {}", self.name)).await;
        let said = String::from_utf8(output.stdout).unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}{error}");
        said
    }
}

#[tokio::test]
async fn orders_and_jobs_come_and_go_together() {
    let database = Database::new("transactional").await;
    let said = database.said_by("transactional_enqueue").await;
    let mut lines: Vec<_> = said.lines().collect();
    let last = lines.pop().unwrap();
    lines.sort_unstable();
    let expected = [
        "order 1: shipped",
        "order 1: taken",
        "order 2: shipped",
        "order 2: taken",
        "order 3: shipped",
        "order 3: taken",
        "order 4: nothing left to sell",
    ];
    assert_eq!(lines, expected);
    assert_eq!(last, "3 jobs, 3 orders, all shipped: true");
}

#[tokio::test]
async fn a_log_group_takes_over_from_a_process_that_is_killed() {
    let database = Database::new("log").await;
    let said = database.said_by("log_groups").await;
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines[0], "published 360 events of 12 orders", "{said}");
    let killed = lines.iter().position(|line| *line == "billing-1 is killed");
    let (_, later) = lines.split_at(killed.expect("one is killed"));
    let again = |line: &&&str| line.starts_with("billing-") && line.ends_with(" again");
    assert!(later.iter().any(|line| again(&line)), "{said}");
    assert!(
        !later.iter().any(|line| line.starts_with("billing-1 gets")),
        "{said}"
    );
    let end = [
        "lag: billing   0, mail   0",
        "every group has acked everything",
    ];
    assert!(lines.ends_with(&end), "{said}");
}
