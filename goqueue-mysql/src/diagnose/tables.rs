//! The driver's tables: their version, engine, rights and the plan of the query that matters most.

use goqueue_core::driver::Finding;
use sqlx::{AssertSqlSafe, MySqlConnection, Row, mysql::MySqlRow};

use super::RIGHTS;
use crate::{
    clock::NOW,
    config::MysqlConfig,
    connections::send,
    error::Fault,
    migrate::{OURS, State, state},
    row,
    sql::{Message, Statements, joined},
};

/// The tables that the driver reads and writes, behind the prefix.
const TABLES: [&str; 6] = [
    "jobs",
    "lanes",
    "lane_jobs",
    "unique_keys",
    "dead_letters",
    "queues",
];

pub(super) async fn look(
    connection: &mut MySqlConnection,
    sql: &Statements,
    settings: &MysqlConfig,
) -> Result<Vec<Finding>, Fault> {
    let state = match state(connection, &settings.prefix).await {
        Ok(state) => state,
        Err(fault) if fault.is_answer() => return Ok(vec![forbidden(fault, settings)]),
        Err(fault) => return Err(fault),
    };
    let mut findings = vec![version(&state, settings)];
    if state.version > 0 {
        findings.push(engine(connection, sql, settings).await?);
        findings.push(rights(connection, sql, settings).await?);
        findings.push(plan(connection, sql).await?);
    }
    Ok(findings)
}

fn forbidden(fault: Fault, settings: &MysqlConfig) -> Finding {
    let prefix = &settings.prefix;
    let fix = format!("`GRANT {RIGHTS} ON DATABASE.* TO USER`, for the tables `{prefix}_*`");
    Finding::problem("permissions", fault.during("look").to_string(), fix)
}

fn version(state: &State, settings: &MysqlConfig) -> Finding {
    const CHECK: &str = "schema version";
    let (prefix, version) = (&settings.prefix, state.version);
    if state.understood_from > OURS {
        return Finding::problem(
            CHECK,
            format!(
                "the tables `{prefix}_*` are of version {version}, this program knows up to {OURS}"
            ),
            "update this program",
        );
    }
    if version >= OURS {
        return Finding::good(CHECK, format!("{version}, with the prefix `{prefix}`"));
    }
    let found = match version {
        0 => format!("there are no tables `{prefix}_*` yet"),
        _ => format!("the tables `{prefix}_*` are of version {version}, this program needs {OURS}"),
    };
    let fix = "`goqueue migrate`, as a user who may also CREATE, ALTER and INDEX";
    if settings.auto_migrate {
        return Finding::warning(
            CHECK,
            found,
            format!("{fix}; the first program to connect does it too"),
        );
    }
    Finding::problem(CHECK, found, fix)
}

async fn engine(
    connection: &mut MySqlConnection,
    sql: &Statements,
    settings: &MysqlConfig,
) -> Result<Finding, Fault> {
    const CHECK: &str = "tables";
    let prefix = &settings.prefix;
    let names = joined(TABLES, ", ", |text, table| {
        std::fmt::Write::write_fmt(text, format_args!("'{prefix}_{table}'"))
    });
    let mut message = Message::new();
    message.put(&sql.diagnose_tables, &[("tables", &names)]);
    let answers = send(connection, message).await?;
    let mut found = Vec::new();
    for row in answers.iter().flat_map(|answer| &answer.rows) {
        let (name, engine): (String, String) = (row::get(row, "name")?, row::get(row, "engine")?);
        found.push((name, engine));
    }
    let has = |table: &&&str| {
        found
            .iter()
            .any(|(name, _)| *name == format!("{prefix}_{table}"))
    };
    let missing: Vec<_> = TABLES.iter().filter(|table| !has(table)).collect();
    if let Some(missing) = missing.first() {
        return Ok(Finding::problem(
            CHECK,
            format!("the table `{prefix}_{missing}` is gone"),
            format!(
                "restore it from a backup, or delete what is in `{prefix}_migrations` and run `goqueue migrate`"
            ),
        ));
    }
    let foreign = found
        .iter()
        .find(|(_, engine)| !engine.eq_ignore_ascii_case("InnoDB"));
    Ok(match foreign {
        Some((name, engine)) => Finding::problem(
            CHECK,
            format!("`{name}` is kept by {engine}, which has no transactions"),
            format!("`ALTER TABLE {name} ENGINE = InnoDB`"),
        ),
        None => Finding::good(CHECK, format!("{} tables, all InnoDB", found.len())),
    })
}

/// Tries each right with a statement that touches no row.
async fn rights(
    connection: &mut MySqlConnection,
    sql: &Statements,
    settings: &MysqlConfig,
) -> Result<Finding, Fault> {
    const CHECK: &str = "permissions";
    let mut refused = Vec::new();
    let mut why = String::new();
    for table in TABLES {
        let text = sql.diagnose_rights.with(&[("table", &table)]);
        let statements = text
            .split(';')
            .map(str::trim)
            .filter(|text| !text.is_empty());
        for statement in statements {
            match send(connection, Message::of(statement))
                .await
                .map_err(Fault::from)
            {
                Ok(_) => {}
                Err(fault) if fault.is_answer() => {
                    let right = statement.split(' ').next().unwrap_or(statement);
                    refused.push(format!("{right} on {}_{table}", settings.prefix));
                    why = fault.to_string();
                }
                Err(fault) => return Err(fault),
            }
        }
    }
    if refused.is_empty() {
        return Ok(Finding::good(CHECK, format!("{RIGHTS} on every table")));
    }
    let fix = format!("`GRANT {RIGHTS} ON DATABASE.* TO USER`");
    Ok(Finding::problem(
        CHECK,
        format!("refused: {} ({why})", refused.join(", ")),
        fix,
    ))
}

/// Whether the server reads the queue in the order of its index. If not, one worker locks rows that
/// another wants.
async fn plan(connection: &mut MySqlConnection, sql: &Statements) -> Result<Finding, Fault> {
    const CHECK: &str = "index plan";
    let text = sql.scan.with(&[
        ("queue", &"'goqueue-doctor'"),
        ("now", &NOW),
        ("from", &""),
        ("except", &""),
        ("limit", &100),
    ]);
    let text = format!("EXPLAIN FORMAT=TRADITIONAL {text}");
    let rows = sqlx::raw_sql(AssertSqlSafe(text))
        .fetch_all(&mut *connection)
        .await;
    let fix = "`ANALYZE TABLE` on the jobs' table; if that does not help, drop indexes that were added to \
               it by hand";
    let rows = match rows.map_err(Fault::from) {
        Ok(rows) => rows,
        Err(fault) if fault.is_answer() => {
            return Ok(Finding::unknown(CHECK, fault.to_string(), fix));
        }
        Err(fault) => return Err(fault),
    };
    let column = |row: &MySqlRow, name: &str| {
        let value: Result<Option<String>, _> = row.try_get_unchecked(name);
        value.ok().flatten().unwrap_or_default()
    };
    let Some(row) = rows.first() else {
        return Ok(Finding::unknown(CHECK, "the server shows no plan", fix));
    };
    let (key, extra) = (column(row, "key"), column(row, "Extra"));
    if key == "ready" && !extra.contains("filesort") && !extra.contains("temporary") {
        return Ok(Finding::good(
            CHECK,
            "jobs are taken in the order of the index `ready`",
        ));
    }
    let key = if key.is_empty() { "none".into() } else { key };
    Ok(Finding::problem(
        CHECK,
        format!("index {key}, {extra}"),
        fix,
    ))
}
