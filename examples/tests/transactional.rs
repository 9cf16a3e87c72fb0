//! The example with a transaction does what it says, on the server that `cargo xtask test` starts.

#![cfg(feature = "mysql")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

use goqueue::mysql::sqlx::{AssertSqlSafe, Connection, MySqlConnection, raw_sql};

async fn run(server: &str, statement: String) {
    let mut connection = MySqlConnection::connect(&format!("{server}/mysql"))
        .await
        .unwrap();
    raw_sql(AssertSqlSafe(statement))
        .execute(&mut connection)
        .await
        .unwrap();
}

#[tokio::test]
async fn orders_and_jobs_come_and_go_together() {
    let url = std::env::var("GOQUEUE_TEST_MYSQL_URL")
        .expect("GOQUEUE_TEST_MYSQL_URL is not set: `cargo xtask test` starts the server");
    let (scheme, rest) = url.split_once("://").unwrap();
    let server = format!("{scheme}://{}", rest.split('/').next().unwrap());
    let database = format!("goqueue_example_{}", std::process::id());
    run(&server, format!("CREATE DATABASE {database}")).await;

    let test = std::env::current_exe().unwrap();
    let built = test.parent().unwrap().parent().unwrap();
    let output = Command::new(built.join("examples/transactional_enqueue"))
        .arg(format!("{server}/{database}"))
        .env_remove("GOQUEUE_DRIVER")
        .output()
        .expect("`cargo test --features mysql` builds the example");
    run(&server, format!("DROP DATABASE {database}")).await;

    let said = String::from_utf8(output.stdout).unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{error}");
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
