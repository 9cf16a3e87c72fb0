//! How the server executes the statements, on tables as large as they get: a test for each of the
//! calls that a busy queue consists of.

use std::time::Duration;

use goqueue_core::{
    Config, JobId, QueueName,
    driver::{Driver, QueueShare, ReserveRequest, Settlement, Verdict},
};
use sqlx::{
    AssertSqlSafe, ConnectOptions, MySqlConnection, Row,
    mysql::{MySqlConnectOptions, MySqlRow},
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    MysqlDriver,
    connections::send,
    sql::{Hex, Message, Name, Statements, Template, list},
};

const READY: usize = 500_000;
const DELAYED: usize = 100_000;

struct Tables {
    connection: MySqlConnection,
    driver: MysqlDriver,
    database: String,
}

impl Tables {
    /// On the server whose URL this variable has.
    async fn on(variable: &str) -> Self {
        let url = std::env::var(variable).unwrap_or_else(|_| {
            panic!("{variable} is not set: `cargo xtask test` starts the server and sets it")
        });
        let (scheme, rest) = url.split_once("://").unwrap();
        let server = format!("{scheme}://{}", rest.split('/').next().unwrap());
        let database = format!("goqueue_plans_{}", JobId::new().as_uuid().simple());
        let options: MySqlConnectOptions = format!("{server}/mysql").parse().unwrap();
        let mut connection = options.disable_statement_logging().connect().await.unwrap();
        run(&mut connection, &format!("CREATE DATABASE {database}")).await;
        run(&mut connection, &format!("USE {database}")).await;
        let config = Config::default().with_driver(&*format!("{server}/{database}"));
        let driver = MysqlDriver::connect(&config).await.unwrap();
        Self {
            connection,
            driver,
            database,
        }
    }

    /// Stores jobs past the driver, which is quicker. `due` is an expression over `n`.
    async fn fill(&mut self, jobs: usize, due: &str) {
        // A table of ten rows, multiplied.
        let ten = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 \
                   UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 \
                   UNION ALL SELECT 8 UNION ALL SELECT 9)";
        let numbers = format!(
            "SELECT a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d + 100000 * f.d AS n \
             FROM {ten} a, {ten} b, {ten} c, {ten} d, {ten} e, {ten} f"
        );
        let text = format!(
            "INSERT INTO goqueue_jobs (queue, id, visible_after, body) \
             SELECT 'q', UNHEX(REPLACE(UUID(), '-', '')), {due}, REPEAT('x', 100) FROM ({numbers}) numbers \
             WHERE n < {jobs} ORDER BY n"
        );
        run(&mut self.connection, &text).await;
        run(&mut self.connection, "ANALYZE TABLE goqueue_jobs").await;
        // Otherwise what follows pays for writing this to the disk.
        run(&mut self.connection, "FLUSH TABLES goqueue_jobs FOR EXPORT").await;
        run(&mut self.connection, "UNLOCK TABLES").await;
    }

    /// What EXPLAIN says of a statement: table, kind of access, key, extras.
    async fn explain(
        &mut self,
        template: &Template,
        values: &[(&str, &(dyn std::fmt::Display + Sync))],
    ) -> Vec<[String; 4]> {
        let values: Vec<(&str, &dyn std::fmt::Display)> = values
            .iter()
            .map(|(name, value)| (*name, *value as &dyn std::fmt::Display))
            .collect();
        let statements = template.with(&values);
        drop(values);
        let mut plan = Vec::new();
        for statement in statements.split(';').filter(|text| !text.trim().is_empty()) {
            let text = format!("EXPLAIN FORMAT=TRADITIONAL {statement}");
            let rows = sqlx::raw_sql(AssertSqlSafe(text))
                .fetch_all(&mut self.connection)
                .await;
            let column = |row: &MySqlRow, name: &str| {
                let value: Option<String> = row.try_get_unchecked(name).unwrap();
                value.unwrap_or_default()
            };
            plan.extend(
                rows.unwrap()
                    .iter()
                    .map(|row| ["table", "type", "key", "Extra"].map(|name| column(row, name))),
            );
        }
        plan
    }

    async fn drop(mut self) {
        run(
            &mut self.connection,
            &format!("DROP DATABASE {}", self.database),
        )
        .await;
    }
}

async fn run(connection: &mut MySqlConnection, text: &str) {
    send(connection, Message::of(text)).await.unwrap();
}

/// Every table of ours is read through `key`, without a sort, a temporary table or a scan.
fn uses(plan: &[[String; 4]], key: &str) {
    let ours: Vec<_> = plan
        .iter()
        // Tables that are part of the statement itself are made to be read whole.
        .filter(|[table, ..]| !table.is_empty() && !table.starts_with('<'))
        .filter(|[table, ..]| table != "verdict")
        .collect();
    assert!(!ours.is_empty(), "{plan:?}");
    for [_, kind, used, extra] in ours {
        assert_eq!(used, key, "{plan:?}");
        assert!(!matches!(kind.as_str(), "ALL" | "index"), "{plan:?}");
        assert!(
            !extra.contains("filesort") && !extra.contains("temporary"),
            "{plan:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_of_a_busy_queue_uses_its_index() {
    every_statement_uses_its_index("GOQUEUE_TEST_MYSQL_URL").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mysql9_every_statement_of_a_busy_queue_uses_its_index() {
    every_statement_uses_its_index("GOQUEUE_TEST_MYSQL9_URL").await;
}

async fn every_statement_uses_its_index(variable: &str) {
    let mut tables = Tables::on(variable).await;
    tables.fill(READY, "n").await;
    let far = format!("{} + 86400000 + n", crate::clock::NOW);
    tables.fill(DELAYED, &far).await;
    let sql = Statements::new("goqueue");
    let queue = QueueName::new("q").unwrap();
    let queue = Name(&queue);
    let seqs = list(1000..1100);
    let leases = format!("leased = 1 AND ((token = 1 AND seq IN ({seqs})))");
    let lanes = (0..3_u8)
        .map(|n| format!("(queue = {queue} AND ordering_key = {})", Hex(&[n])))
        .collect::<Vec<_>>()
        .join(" OR ");
    let keys = lanes.replace("ordering_key", "unique_key");
    let verdicts = "SELECT 1 AS seq, 1 AS token, 100 AS delay, x'61' AS error, 'x' AS reason \
                    UNION ALL SELECT 2, 1, 100, x'62', 'x'";
    // Small tables are read whole when that is quicker, so these have to have something in them.
    let never = crate::clock::NEVER;
    for (table, columns, values) in [
        (
            "lanes",
            "queue, ordering_key, seq",
            "CONCAT('k', seq), seq + 1000000".to_owned(),
        ),
        (
            "lane_jobs",
            "queue, ordering_key, seq",
            "CONCAT('k', seq), seq + 1000000".to_owned(),
        ),
        (
            "unique_keys",
            "queue, unique_key, hold_until, taken_until, id",
            format!("CONCAT('k', seq), 0, {never} - seq % 2, id"),
        ),
        (
            "dead_letters",
            "queue, id, reason, attempts, died_at, error, body",
            format!("id, 'x', 1, {} - seq, 'x', 'x'", crate::clock::NOW),
        ),
    ] {
        let text = format!(
            "INSERT INTO goqueue_{table} ({columns}) SELECT 'q', {values} FROM goqueue_jobs \
             WHERE seq < 5000"
        );
        run(&mut tables.connection, &text).await;
        run(
            &mut tables.connection,
            &format!("ANALYZE TABLE goqueue_{table}"),
        )
        .await;
    }

    let none = "";
    let scan: &[(&str, &(dyn std::fmt::Display + Sync))] = &[
        ("queue", &queue),
        ("from", &none),
        ("except", &none),
        ("limit", &100),
    ];
    uses(&tables.explain(&sql.scan, scan).await, "ready");
    let from = "AND ((visible_after = 500 AND seq > 9) OR visible_after > 500)";
    let scan: &[(&str, &(dyn std::fmt::Display + Sync))] = &[
        ("queue", &queue),
        ("from", &from),
        ("except", &none),
        ("limit", &100),
    ];
    uses(&tables.explain(&sql.scan, scan).await, "ready");
    let plan = tables.explain(&sql.look, &[("queue", &queue)]).await;
    assert_eq!(plan[0][2], "ready", "{plan:?}");
    assert!(!plan[0][3].contains("filesort"), "{plan:?}");
    uses(
        &tables
            .explain(&sql.take, &[("lease", &1), ("seqs", &seqs)])
            .await,
        "PRIMARY",
    );
    uses(
        &tables.explain(&sql.fetch, &[("seqs", &seqs)]).await,
        "PRIMARY",
    );
    uses(
        &tables.explain(&sql.hold, &[("seqs", &seqs)]).await,
        "PRIMARY",
    );
    uses(
        &tables.explain(&sql.unhold, &[("seqs", &seqs)]).await,
        "PRIMARY",
    );
    uses(
        &tables.explain(&sql.lock_jobs, &[("seqs", &seqs)]).await,
        "PRIMARY",
    );
    uses(
        &tables
            .explain(&sql.delete_jobs, &[("leases", &leases)])
            .await,
        "PRIMARY",
    );
    uses(
        &tables
            .explain(&sql.extend, &[("leases", &leases), ("lease", &1)])
            .await,
        "PRIMARY",
    );
    uses(
        &tables
            .explain(&sql.held_leases, &[("leases", &leases)])
            .await,
        "PRIMARY",
    );
    uses(
        &tables.explain(&sql.retry, &[("verdicts", &verdicts)]).await,
        "PRIMARY",
    );
    uses(
        &tables
            .explain(&sql.release, &[("verdicts", &verdicts)])
            .await,
        "PRIMARY",
    );
    let plan = tables.explain(&sql.bury, &[("verdicts", &verdicts)]).await;
    let jobs: Vec<_> = plan.iter().filter(|row| row[0] == "job").cloned().collect();
    uses(&jobs, "PRIMARY");
    uses(
        &tables.explain(&sql.key_holders, &[("keys", &keys)]).await,
        "PRIMARY",
    );
    uses(
        &tables.explain(&sql.taken_keys, &[("keys", &keys)]).await,
        "PRIMARY",
    );
    uses(
        &tables.explain(&sql.free_keys, &[("keys", &keys)]).await,
        "PRIMARY",
    );
    uses(
        &tables.explain(&sql.read_lanes, &[("lanes", &lanes)]).await,
        "PRIMARY",
    );
    uses(
        &tables.explain(&sql.lock_lanes, &[("lanes", &lanes)]).await,
        "PRIMARY",
    );
    uses(
        &tables
            .explain(&sql.first_in_lanes, &[("lanes", &lanes)])
            .await,
        "PRIMARY",
    );
    uses(
        &tables.explain(&sql.close_lanes, &[("lanes", &lanes)]).await,
        "PRIMARY",
    );
    let letters: &[(&str, &(dyn std::fmt::Display + Sync))] = &[
        ("queue", &queue),
        ("retention", &86_400_000),
        ("limit", &500),
    ];
    uses(&tables.explain(&sql.drop_letters, letters).await, "died");
    let free: &[(&str, &(dyn std::fmt::Display + Sync))] = &[("queue", &queue), ("limit", &500)];
    uses(&tables.explain(&sql.drop_free_keys, free).await, "taken");

    let mended: &[(&str, &(dyn std::fmt::Display + Sync))] = &[("queue", &queue), ("limit", &500)];
    let plan = tables.explain(&sql.orphaned_lanes, mended).await;
    let jobs: Vec<_> = plan.iter().filter(|row| row[0] == "job").cloned().collect();
    uses(&jobs, "PRIMARY");
    let plan = tables.explain(&sql.orphaned_jobs, mended).await;
    let lanes: Vec<_> = plan
        .iter()
        .filter(|row| row[0] == "lane")
        .cloned()
        .collect();
    uses(&lanes, "PRIMARY");

    // What an open reservation has locked is what it has returned: the next one gets others.
    let mut open = Message::new();
    open.put(&sql.begin, &[]);
    let place = open.put(
        &sql.scan,
        &[
            ("queue", &queue),
            ("from", &none),
            ("except", &none),
            ("limit", &10),
        ],
    );
    let answers = send(&mut tables.connection, open).await.unwrap();
    assert_eq!(answers[place].rows.len(), 10);
    let jobs = tables.driver.reserve(request(10)).await.unwrap();
    assert_eq!(
        jobs.len(),
        10,
        "one reservation hides the queue from another"
    );
    run(&mut tables.connection, "ROLLBACK").await;

    let mut few = Tables::on(variable).await;
    few.fill(1_000, "n").await;
    // Taken in turn, so that whatever else the machine does slows both down.
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for _ in 0..81 {
        small.push(time_of_claim(&few.driver).await);
        large.push(time_of_claim(&tables.driver).await);
    }
    let (small, large) = (median(small), median(large));
    let ratio = large.as_secs_f64() / small.as_secs_f64();
    println!("a claim takes {small:?} at 1,000 jobs and {large:?} at {READY}: {ratio:.2}");
    assert!(
        ratio <= 1.5,
        "{small:?} at 1,000 jobs, {large:?} at {READY}"
    );
    few.drop().await;
    tables.drop().await;
}

fn request(max: usize) -> ReserveRequest {
    ReserveRequest {
        queues: vec![QueueShare {
            queue: QueueName::new("q").unwrap(),
            share: max,
        }],
        max,
        lease: Duration::from_secs(60),
        wait: Duration::ZERO,
        cancel: CancellationToken::new(),
    }
}

/// How long a claim of ten jobs takes, which are acked afterwards.
async fn time_of_claim(driver: &MysqlDriver) -> Duration {
    let since = Instant::now();
    let jobs = driver.reserve(request(10)).await.unwrap();
    let time = since.elapsed();
    assert_eq!(jobs.len(), 10);
    let ends = jobs
        .into_iter()
        .map(|job| Settlement {
            lease: job.lease,
            verdict: Verdict::Ack,
        })
        .collect();
    driver.settle(ends).await.unwrap();
    time
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
