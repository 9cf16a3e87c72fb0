//! What the diagnosis finds on servers and tables that are set up badly.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use goqueue_core::{
    Config,
    driver::{Finding, FindingStatus},
    log::{Log, NewMessage},
};
use goqueue_mysql::log::MysqlLog;
use support::{Database, Server};

/// As servers are by default. Those of other tests do not flush their logs at every commit.
const FLUSHING: &[&str] = &["--innodb-flush-log-at-trx-commit=1"];

fn of<'a>(findings: &'a [Finding], check: &str) -> &'a Finding {
    let finding = findings.iter().find(|finding| finding.check == check);
    finding.unwrap_or_else(|| panic!("`{check}` was not looked at: {findings:#?}"))
}

fn fix<'a>(findings: &'a [Finding], check: &str) -> &'a str {
    of(findings, check).fix.as_deref().unwrap()
}

#[track_caller]
fn all_good(findings: &[Finding]) {
    assert!(
        findings
            .iter()
            .all(|finding| finding.status == FindingStatus::Good),
        "{findings:#?}"
    );
}

async fn diagnose(config: &Config) -> Vec<Finding> {
    goqueue_mysql::diagnose(config.clone()).await
}

#[tokio::test]
async fn a_server_that_is_well_has_nothing_to_mend_and_is_left_as_it_was() {
    let server = Server::with(FLUSHING).await;
    let database = Database::on(&server.url()).await;
    let findings = diagnose(&database.config()).await;
    assert_eq!(
        of(&findings, "schema version").status,
        FindingStatus::Warning
    );
    let tables = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()";
    assert_eq!(database.number(tables).await, 0, "looking makes no tables");

    goqueue_mysql::migrate(&database.config()).await.unwrap();
    let findings = diagnose(&database.config()).await;
    all_good(&findings);
    assert_eq!(
        of(&findings, "index plan").found,
        "jobs are taken in the order of the index `ready`"
    );
    let unused = "not used: nobody has published or subscribed";
    assert_eq!(of(&findings, "log").found, unused);
    database.is_empty().await;
    database.drop().await;
}

#[tokio::test]
async fn a_user_without_rights_is_told_which_are_missing() {
    let server = Server::with(FLUSHING).await;
    let database = Database::on(&server.url()).await;
    goqueue_mysql::migrate(&database.config()).await.unwrap();
    let user = format!("u{}", &database.name[8..30]);
    let name = &database.name;
    // From this machine somebody without a name comes before a name from anywhere.
    let places = [format!("{user}@localhost"), format!("{user}@'%'")];
    for user in &places {
        let create = format!("CREATE USER {user} IDENTIFIED BY 'hunter2'");
        database.run(&create).await;
        let grant = format!("GRANT SELECT, INSERT, UPDATE ON {name}.* TO {user}");
        database.run(&grant).await;
    }
    let url = server.url();
    let host = url.rsplit_once('@').unwrap().1.split('/').next().unwrap();
    let config = Config::default().with_driver(&*format!("mysql://{user}:hunter2@{host}/{name}"));

    let findings = diagnose(&config).await;
    let permissions = of(&findings, "permissions");
    assert_eq!(permissions.status, FindingStatus::Problem);
    assert!(
        permissions
            .found
            .starts_with("refused: DELETE on goqueue_jobs, DELETE on goqueue_lanes"),
        "{permissions:?}"
    );
    assert!(!permissions.found.contains("UPDATE on"), "{permissions:?}");
    assert!(fix(&findings, "permissions").starts_with("`GRANT SELECT, INSERT, UPDATE, DELETE ON"));

    for user in &places {
        let grant = format!("GRANT DELETE ON {name}.* TO {user}");
        database.run(&grant).await;
    }
    let findings = diagnose(&config).await;
    all_good(&findings);
    assert!(!format!("{findings:?}").contains("hunter2"));

    // One who may use the jobs' tables alone has no log, and nothing to mend.
    let tables = [
        "migrations",
        "jobs",
        "lanes",
        "lane_jobs",
        "unique_keys",
        "dead_letters",
        "queues",
    ];
    for user in &places {
        let revoke = format!("REVOKE SELECT, INSERT, UPDATE, DELETE ON {name}.* FROM {user}");
        database.run(&revoke).await;
        for table in tables {
            let grant =
                format!("GRANT SELECT, INSERT, UPDATE, DELETE ON {name}.goqueue_{table} TO {user}");
            database.run(&grant).await;
        }
    }
    let findings = diagnose(&config).await;
    all_good(&findings);
    let no_log = "not used by this user, who may not read its tables";
    assert_eq!(of(&findings, "log").found, no_log);
    for user in &places {
        database.run(&format!("DROP USER {user}")).await;
    }
    database.drop().await;
}

#[tokio::test]
async fn tables_that_somebody_changed_are_found() {
    let database = Database::new().await;
    goqueue_mysql::migrate(&database.config()).await.unwrap();
    database
        .run("ALTER TABLE goqueue_queues ENGINE = MyISAM")
        .await;
    let findings = diagnose(&database.config()).await;
    assert_eq!(
        fix(&findings, "tables"),
        "`ALTER TABLE goqueue_queues ENGINE = InnoDB`"
    );

    database.run("DROP TABLE goqueue_lanes").await;
    let findings = diagnose(&database.config()).await;
    assert_eq!(
        of(&findings, "tables").found,
        "the table `goqueue_lanes` is gone"
    );

    database
        .run("INSERT INTO goqueue_migrations (version, understood_from) VALUES (99, 99)")
        .await;
    let findings = diagnose(&database.config()).await;
    assert_eq!(fix(&findings, "schema version"), "update this program");
    database.drop().await;

    let database = Database::new().await;
    goqueue_mysql::migrate(&database.config()).await.unwrap();
    database
        .run("ALTER TABLE goqueue_jobs DROP INDEX ready, ADD INDEX ready (queue, seq)")
        .await;
    let findings = diagnose(&database.config()).await;
    assert_eq!(
        of(&findings, "index plan").status,
        FindingStatus::Problem,
        "{findings:#?}"
    );
    database.drop().await;
}

/// A database whose log has been published to, and its configuration.
async fn with_a_log() -> (Database, Config) {
    let database = Database::new().await;
    let config = database.config();
    let log = Log::new(MysqlLog::connect(&config).await.unwrap());
    let message = NewMessage::new("1", "{}", "p");
    log.publish("orders", [message]).await.unwrap();
    log.close().await.unwrap();
    (database, config)
}

#[tokio::test]
async fn the_tables_of_a_log_that_is_used_are_looked_at() {
    let (database, config) = with_a_log().await;
    let findings = diagnose(&config).await;
    for (check, found) in [
        ("log tables", "5 tables, all InnoDB"),
        (
            "log permissions",
            "SELECT, INSERT, UPDATE, DELETE on every table",
        ),
        (
            "log index plan",
            "messages are read in the order of the primary key, and redelivered in that of `due`",
        ),
    ] {
        let looked = of(&findings, check);
        let expected = (FindingStatus::Good, found);
        assert_eq!((looked.status, &*looked.found), expected, "{check}");
    }
    let rows = "SELECT COUNT(*) FROM goqueue_queue_messages";
    assert_eq!(database.number(rows).await, 1, "looking changes nothing");
    database.drop().await;
}

#[tokio::test]
async fn tables_of_the_log_that_somebody_changed_are_found() {
    let (database, config) = with_a_log().await;
    database
        .run("ALTER TABLE goqueue_queue_delivery_state DROP INDEX due")
        .await;
    database
        .run("ALTER TABLE goqueue_queue_offsets ENGINE = MyISAM")
        .await;
    let findings = diagnose(&config).await;
    assert_eq!(
        fix(&findings, "log tables"),
        "`ALTER TABLE goqueue_queue_offsets ENGINE = InnoDB`"
    );
    let plan = of(&findings, "log index plan");
    assert_eq!(plan.status, FindingStatus::Problem);
    assert!(plan.found.contains("due"), "{plan:?}");
    // What jobs need is well all the same.
    for check in ["tables", "permissions", "index plan"] {
        assert_eq!(of(&findings, check).status, FindingStatus::Good, "{check}");
    }

    database.run("DROP TABLE goqueue_queue_offsets").await;
    let findings = diagnose(&config).await;
    assert_eq!(
        of(&findings, "log tables").found,
        "the table `goqueue_queue_offsets` is gone"
    );

    for table in [
        "messages",
        "delivery_state",
        "partition_leases",
        "subscriber_heartbeats",
    ] {
        let drop = format!("DROP TABLE goqueue_queue_{table}");
        database.run(&drop).await;
    }
    let findings = diagnose(&config).await;
    let log = of(&findings, "log");
    assert_eq!(log.status, FindingStatus::Good, "nobody misses it");
    assert_eq!(log.found, "not used: its tables are removed");
    database.drop().await;
}

#[tokio::test]
async fn a_server_that_is_set_up_badly_is_told_how_to_be_better() {
    let server = Server::start().await;
    let database = Database::on(&server.url()).await;
    goqueue_mysql::migrate(&database.config()).await.unwrap();
    for setting in [
        "innodb_flush_log_at_trx_commit = 2",
        "max_allowed_packet = 1048576",
        "max_connections = 15",
        "read_only = 1",
    ] {
        database.run(&format!("SET GLOBAL {setting}")).await;
    }
    let findings = diagnose(&database.config()).await;
    assert_eq!(of(&findings, "persistence").status, FindingStatus::Warning);
    assert_eq!(
        of(&findings, "largest job").found,
        "1008 KiB, for `max_allowed_packet` is 1048576 bytes"
    );
    assert_eq!(of(&findings, "connections").status, FindingStatus::Warning);
    assert_eq!(of(&findings, "role").status, FindingStatus::Problem);
}

#[tokio::test]
async fn a_short_lease_is_a_finding() {
    let database = Database::new().await;
    let config = database.config_with("worker.lease = \"20s\"");
    let findings = diagnose(&config).await;
    let lease = of(&findings, "lease against timeout");
    assert_eq!(
        lease.found,
        "`worker.lease` 20s, `mysql.answer_timeout` 30s"
    );
    assert_eq!(lease.status, FindingStatus::Warning);
    database.drop().await;
}
