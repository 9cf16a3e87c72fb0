//! The tables of the log, where there is one: a program without it is not told what it would need.

use goqueue_core::driver::Finding;
use sqlx::MySqlConnection;

use super::{
    number,
    tables::{Plan, Tables, engine, kept, rights},
};
use crate::{config::MysqlConfig, error::Fault, log::LogStatements, sql::Statements};

/// The version of the schema that has all of its tables.
pub(super) const SINCE: u32 = 6;

const TABLES: Tables = Tables {
    names: &[
        "queue_messages",
        "queue_delivery_state",
        "queue_offsets",
        "queue_partition_leases",
        "queue_subscriber_heartbeats",
    ],
    column: "topic",
    engine: "log tables",
    rights: "log permissions",
};

const UNREAD: Plan = Plan {
    check: "log index plan",
    table: "queue_messages",
    index: "PRIMARY",
    good: "messages are read in the order of the primary key",
};

const DUE: Plan = Plan {
    check: "log index plan",
    table: "queue_delivery_state",
    index: "due",
    good: "messages are read in the order of the primary key, and redelivered in that of `due`",
};

pub(super) async fn look(
    connection: &mut MySqlConnection,
    sql: &Statements,
    settings: &MysqlConfig,
) -> Result<Vec<Finding>, Fault> {
    if let Some(why) = unused(connection, sql, settings).await? {
        return Ok(vec![Finding::good("log", why)]);
    }
    let engine = engine(connection, sql, settings, &TABLES).await?;
    let rights = rights(connection, sql, settings, &TABLES).await?;
    let plan = plan(connection, settings).await?;
    Ok(vec![engine, rights, plan])
}

/// Why nobody uses the log here: the migrations make its tables in any case. Whoever publishes or
/// subscribes leaves a row in the offsets.
async fn unused(
    connection: &mut MySqlConnection,
    sql: &Statements,
    settings: &MysqlConfig,
) -> Result<Option<&'static str>, Fault> {
    const NO_SUCH_TABLE: u16 = 1146;
    let prefix = &settings.prefix;
    let asked = format!("SELECT EXISTS (SELECT 1 FROM {prefix}_queue_offsets) AS n");
    match number(connection, &asked).await {
        Ok(0) => Ok(Some("not used: nobody has published or subscribed")),
        Ok(_) => Ok(None),
        Err(fault) if fault.number() == Some(NO_SUCH_TABLE) => {
            let kept = kept(connection, sql, settings, &TABLES).await?;
            Ok(kept
                .is_empty()
                .then_some("not used: its tables are removed"))
        }
        Err(fault) if fault.is_answer() => {
            Ok(Some("not used by this user, who may not read its tables"))
        }
        Err(fault) => Err(fault),
    }
}

/// How the server reads what a partition holds behind a cursor, and what is to be delivered again.
async fn plan(connection: &mut MySqlConnection, settings: &MysqlConfig) -> Result<Finding, Fault> {
    let across = LogStatements::new(&settings.prefix).across;
    let unread = across.unread.with(&[
        ("topic", &"'goqueue-doctor'"),
        ("partition", &"x'70'"),
        ("cursor", &0),
        ("end", &100),
        ("at", &1),
        ("limit", &100),
    ]);
    let found = UNREAD.compare(connection, &unread).await?;
    if found.fix.is_some() {
        return Ok(found);
    }
    let due = format!(
        "SELECT `offset` FROM {}_queue_delivery_state FORCE INDEX (due) WHERE \
         topic = 'goqueue-doctor' AND partition_key = x'70' AND consumer_group = 'g' AND kind = 1 \
         AND visible_after <= 1 ORDER BY visible_after, `offset` LIMIT 100",
        settings.prefix
    );
    DUE.compare(connection, &due).await
}
