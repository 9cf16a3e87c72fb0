//! Finding partitions costs what the partitions cost, however many messages there are.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use goqueue_core::log::{LogBackend, TopicName};
use goqueue_mysql::{log::MysqlLog, sqlx::Row};
use support::*;
use tokio::time::Instant;

/// Rows of ten to the power of six, by joining ten rows with themselves.
fn numbers(below: u32) -> String {
    let ten = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 \
               UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 \
               UNION ALL SELECT 8 UNION ALL SELECT 9)";
    format!(
        "(SELECT a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d + 100000 * f.d AS n \
         FROM {ten} a, {ten} b, {ten} c, {ten} d, {ten} e, {ten} f \
         HAVING n < {below} ORDER BY n) numbers"
    )
}

/// Rows that the server has read for everyone.
async fn rows_read(database: &Database) -> i64 {
    let rows = database
        .rows("SHOW GLOBAL STATUS LIKE 'Handler_read%'")
        .await;
    rows.iter()
        .map(|row| {
            let count: String = row.try_get_unchecked(1).unwrap();
            count.parse::<i64>().unwrap()
        })
        .sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_are_found_without_reading_messages() {
    // A server of its own, since the counters are the server's.
    let server = Server::start().await;
    let database = Database::on(&server.url()).await;
    let log = MysqlLog::connect(&database.config()).await.unwrap();
    let topic = TopicName::new("orders").unwrap();
    let partition = "CONCAT('partition-', LPAD(n % 10000, 5, '0'))";
    let messages = numbers(1_000_000);
    database
        .run(&format!(
            "INSERT INTO goqueue_queue_messages (topic, partition_key, `offset`, id, published_at, \
             payload) SELECT 'orders', {partition}, n DIV 10000 + 1, n, 1, 'x' FROM {messages} \
             ORDER BY n % 10000, n"
        ))
        .await;
    let partitions = numbers(10_000);
    for (group, last) in [("''", "100"), ("'g'", "n % 100")] {
        database
            .run(&format!(
                "INSERT INTO goqueue_queue_offsets (topic, consumer_group, partition_key, \
                 last_offset, done_offset) SELECT 'orders', {group}, {partition}, {last}, 0 \
                 FROM {partitions}"
            ))
            .await;
    }
    let offsets = log.offsets();
    let before = rows_read(&database).await;
    let since = Instant::now();
    let found = offsets.partitions(&topic, &group("g")).await.unwrap();
    let took = since.elapsed();
    let own = rows_read(&database).await - before;
    assert_eq!(found.len(), 10_000);
    assert_eq!((found[42].head, found[42].cursor), (100, 42));

    // What a design without rows for its partitions reads.
    let before = rows_read(&database).await;
    let rows = database
        .rows(
            "SELECT partition_key, MAX(`offset`) FROM goqueue_queue_messages \
             IGNORE INDEX (PRIMARY, ids) WHERE topic = 'orders' GROUP BY partition_key",
        )
        .await;
    let naive = rows_read(&database).await - before;
    assert_eq!(rows.len(), 10_000);
    println!(
        "10,000 partitions with 1,000,000 messages: {own} rows are read in {took:?}, {naive} without \
         rows for the partitions"
    );
    assert!(own < 30_000, "{own}");
    assert!(
        naive > 1_000_000,
        "the naive design reads {naive}: no mutant"
    );
}
