//! How the server executes the statements of a busy log: through an index, without a sort.

use std::fmt::Display;

use goqueue_core::{Config, JobId};
use sqlx::{
    AssertSqlSafe, ConnectOptions, MySqlConnection, Row,
    mysql::{MySqlConnectOptions, MySqlRow},
};

use super::sql::LogStatements;
use crate::{
    MysqlDriver,
    connections::send,
    sql::{Message as Text, Template},
};

/// What a statement is filled with, whatever it asks for.
const VALUES: &[(&str, &str)] = &[
    ("topic", "'orders'"),
    ("group", "'g'"),
    ("groups", "'g', 'h'"),
    ("partition", "x'7031'"),
    ("partitions", "x'7031', x'7032'"),
    ("subscriber", "'s'"),
    ("instance", "7"),
    ("offset", "500"),
    ("offsets", "500, 501, 502"),
    ("cursor", "500"),
    ("watermark", "400"),
    ("end", "600"),
    ("at", "1700000000000"),
    ("limit", "100"),
    ("limit_new", "100"),
    ("receipt", "9"),
    ("visibility", "60000"),
    ("duration", "60000"),
    ("by", "60000"),
    ("retention", "60000"),
    ("dead", "60000"),
    ("valid", "60000"),
    ("which", ""),
    ("after", ""),
    ("id", "x'31'"),
    (
        "deliveries",
        "(partition_key = x'7031' AND receipt = 9 AND `offset` BETWEEN 1 AND 100) OR \
         (partition_key = x'7032' AND receipt = 9 AND `offset` BETWEEN 1 AND 1)",
    ),
    (
        "ranges",
        "(partition_key = x'7031' AND `offset` <= 100) OR (partition_key = x'7032' AND `offset` <= 9)",
    ),
    (
        "ids",
        "(id = x'31' AND partition_key = x'7031') OR (id = x'32' AND partition_key = x'7032')",
    ),
    ("places", "(partition_key = x'7031' AND `offset` IN (1, 2))"),
];

struct Tables {
    connection: MySqlConnection,
    database: String,
}

impl Tables {
    /// A hundred partitions of a thousand messages, of which a group has read some, and one with
    /// many open messages, on the server whose URL the variable has.
    async fn on(variable: &str) -> Self {
        let url = std::env::var(variable).unwrap_or_else(|_| {
            panic!("{variable} is not set: `cargo xtask test` starts the server and sets it")
        });
        let (scheme, rest) = url.split_once("://").unwrap();
        let server = format!("{scheme}://{}", rest.split('/').next().unwrap());
        let database = format!("goqueue_log_plans_{}", JobId::new().as_uuid().simple());
        let options: MySqlConnectOptions = format!("{server}/mysql").parse().unwrap();
        let connection = options.disable_statement_logging().connect().await.unwrap();
        let mut tables = Self {
            connection,
            database,
        };
        let database = tables.database.clone();
        tables.run(&format!("CREATE DATABASE {database}")).await;
        tables.run(&format!("USE {database}")).await;
        let config = Config::default().with_driver(&*format!("{server}/{database}"));
        MysqlDriver::connect(&config).await.unwrap();
        let ten = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 \
                   UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 \
                   UNION ALL SELECT 8 UNION ALL SELECT 9)";
        tables
            .run(&format!(
                "INSERT INTO goqueue_queue_messages (topic, partition_key, `offset`, id, \
                 published_at, payload) SELECT 'orders', CONCAT('p', a.d + 10 * b.d), \
                 1 + c.d + 10 * d.d + 100 * e.d, c.d + 10 * d.d + 100 * e.d, 1, 'x' \
                 FROM {ten} a, {ten} b, {ten} c, {ten} d, {ten} e"
            ))
            .await;
        for (group, done) in [("''", 0), ("'g'", 100), ("'h'", 200)] {
            tables
                .run(&format!(
                    "INSERT INTO goqueue_queue_offsets SELECT 'orders', {group}, \
                     CONCAT('p', a.d + 10 * b.d), 1000, {done} FROM {ten} a, {ten} b"
                ))
                .await;
        }
        tables
            .run(
                "INSERT INTO goqueue_queue_delivery_state SELECT topic, partition_key, 'g', \
                 `offset`, `offset` % 3, 1, 9, `offset` * 1000000000, NULL \
                 FROM goqueue_queue_messages WHERE partition_key IN ('p1', 'p2', 'p3')",
            )
            .await;
        tables
            .run(
                "INSERT INTO goqueue_queue_partition_leases SELECT topic, 'g', partition_key, 's', \
                 7, 1 FROM goqueue_queue_offsets WHERE consumer_group = ''",
            )
            .await;
        for table in ["messages", "offsets", "delivery_state", "partition_leases"] {
            tables
                .run(&format!("ANALYZE TABLE goqueue_queue_{table}"))
                .await;
        }
        tables
    }

    async fn run(&mut self, text: &str) {
        send(&mut self.connection, Text::of(text)).await.unwrap();
    }

    /// Every table of ours that the statement reads is read through `key`, without a sort or a scan.
    async fn uses(&mut self, name: &str, template: &Template, keys: &[&str]) {
        let values: Vec<(&str, &dyn Display)> = VALUES
            .iter()
            .map(|(name, value)| (*name, value as &dyn Display))
            .collect();
        let statements = template.with(&values);
        drop(values);
        for statement in statements.split(';').filter(|text| !text.trim().is_empty()) {
            let text = format!("EXPLAIN FORMAT=TRADITIONAL {statement}");
            let rows = sqlx::raw_sql(AssertSqlSafe(text))
                .fetch_all(&mut self.connection)
                .await;
            let column = |row: &MySqlRow, name: &str| {
                let value: Option<String> = row.try_get_unchecked(name).unwrap();
                value.unwrap_or_default()
            };
            for row in rows.unwrap() {
                let [table, kind, key, extra] =
                    ["table", "type", "key", "Extra"].map(|name| column(&row, name));
                let plan = format!("{name}: {table} {kind} {key} {extra}");
                // Tables that are part of the statement itself are made to be read whole.
                if table.is_empty() || table.starts_with('<') {
                    continue;
                }
                assert!(keys.contains(&key.as_str()), "{plan}\n{statement}");
                assert!(!matches!(kind.as_str(), "ALL" | "index"), "{plan}");
                assert!(
                    !extra.contains("filesort") && !extra.contains("temporary"),
                    "{plan}\n{statement}"
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_of_a_busy_log_uses_its_index() {
    every_statement_uses_its_index("GOQUEUE_TEST_MYSQL_URL").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mysql9_every_statement_of_a_busy_log_uses_its_index() {
    every_statement_uses_its_index("GOQUEUE_TEST_MYSQL9_URL").await;
}

async fn every_statement_uses_its_index(variable: &str) {
    let mut tables = Tables::on(variable).await;
    let sql = LogStatements::new("goqueue");
    let (across, primary) = (&sql.across, &["PRIMARY"][..]);
    for (name, template, keys) in [
        ("heads", &across.heads, primary),
        ("offsets_of_ids", &across.offsets_of_ids, &["ids"][..]),
        ("lock_place", &across.lock_place, primary),
        ("due", &across.due, &["PRIMARY", "due"][..]),
        ("unread", &across.unread, primary),
        ("take", &across.take, primary),
        ("forget", &across.forget, primary),
        ("move_cursor", &across.move_cursor, primary),
        ("lock_places", &across.lock_places, primary),
        ("deliveries", &across.deliveries, primary),
        ("ack", &across.ack, primary),
        ("move_watermarks", &across.move_watermarks, primary),
        ("read", &across.read, primary),
        ("remove_some", &across.remove_some, primary),
        ("lock_tails", &across.lock_tails, primary),
        ("stands", &across.stands, primary),
        ("offsets.partitions", &sql.offsets.partitions, primary),
        ("offsets.group_offsets", &sql.offsets.group_offsets, primary),
        ("leases.renew", &sql.leases.renew, primary),
        ("leases.held", &sql.leases.held, primary),
        ("leases.release", &sql.leases.release, primary),
        ("deliveries.extend", &sql.deliveries.extend, primary),
        ("deliveries.open", &sql.deliveries.open, primary),
        ("messages.find", &sql.messages.find, &["ids"][..]),
        ("messages.list", &sql.messages.list, primary),
    ] {
        tables.uses(name, template, keys).await;
    }
    let database = tables.database.clone();
    tables.run(&format!("DROP DATABASE {database}")).await;
}
