//! Tables: their version, engine, rights and the plan of the query that matters most.

use goqueue_core::driver::Finding;
use sqlx::{AssertSqlSafe, MySqlConnection, Row, mysql::MySqlRow};

use super::{RIGHTS, log};
use crate::{
    clock::NOW,
    config::MysqlConfig,
    connections::send,
    error::Fault,
    migrate::{OURS, State, state},
    row,
    sql::{Message, Statements, joined},
};

/// Tables that go together, and what the looks at them are called.
pub(super) struct Tables {
    /// Their names behind the prefix.
    pub(super) names: &'static [&'static str],
    /// A column that each of them has.
    pub(super) column: &'static str,
    pub(super) engine: &'static str,
    pub(super) rights: &'static str,
}

/// What the driver reads and writes.
const OF_JOBS: Tables = Tables {
    names: &[
        "jobs",
        "lanes",
        "lane_jobs",
        "unique_keys",
        "dead_letters",
        "queues",
    ],
    column: "queue",
    engine: "tables",
    rights: "permissions",
};

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
        findings.push(engine(connection, sql, settings, &OF_JOBS).await?);
        findings.push(rights(connection, sql, settings, &OF_JOBS).await?);
        findings.push(plan_of_jobs(connection, sql).await?);
    }
    if state.version >= log::SINCE {
        findings.extend(log::look(connection, sql, settings).await?);
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

pub(super) async fn engine(
    connection: &mut MySqlConnection,
    sql: &Statements,
    settings: &MysqlConfig,
    tables: &Tables,
) -> Result<Finding, Fault> {
    let (prefix, check) = (&settings.prefix, tables.engine);
    let found = kept(connection, sql, settings, tables).await?;
    let has = |table: &&&str| {
        found
            .iter()
            .any(|(name, _)| *name == format!("{prefix}_{table}"))
    };
    let missing: Vec<_> = tables.names.iter().filter(|table| !has(table)).collect();
    if let Some(missing) = missing.first() {
        return Ok(Finding::problem(
            check,
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
            check,
            format!("`{name}` is kept by {engine}, which has no transactions"),
            format!("`ALTER TABLE {name} ENGINE = InnoDB`"),
        ),
        None => Finding::good(check, format!("{} tables, all InnoDB", found.len())),
    })
}

/// The tables that are there, and the engine of each.
pub(super) async fn kept(
    connection: &mut MySqlConnection,
    sql: &Statements,
    settings: &MysqlConfig,
    tables: &Tables,
) -> Result<Vec<(String, String)>, Fault> {
    let prefix = &settings.prefix;
    let names = joined(tables.names, ", ", |text, table| {
        std::fmt::Write::write_fmt(text, format_args!("'{prefix}_{table}'"))
    });
    let mut message = Message::new();
    message.put(&sql.diagnose_tables, &[("tables", &names)]);
    let answers = send(connection, message).await?;
    let rows = answers.iter().flat_map(|answer| &answer.rows);
    rows.map(|row| Ok((row::get(row, "name")?, row::get(row, "engine")?)))
        .collect()
}

/// Tries each right with a statement that touches no row.
pub(super) async fn rights(
    connection: &mut MySqlConnection,
    sql: &Statements,
    settings: &MysqlConfig,
    tables: &Tables,
) -> Result<Finding, Fault> {
    let check = tables.rights;
    let mut refused = Vec::new();
    let mut why = String::new();
    for table in tables.names {
        let text = sql
            .diagnose_rights
            .with(&[("table", table), ("column", &tables.column)]);
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
        return Ok(Finding::good(check, format!("{RIGHTS} on every table")));
    }
    let fix = format!("`GRANT {RIGHTS} ON DATABASE.* TO USER`");
    Ok(Finding::problem(
        check,
        format!("refused: {} ({why})", refused.join(", ")),
        fix,
    ))
}

/// Whether the server reads the queue in the order of its index. If not, one worker locks rows that
/// another wants.
async fn plan_of_jobs(
    connection: &mut MySqlConnection,
    sql: &Statements,
) -> Result<Finding, Fault> {
    let text = sql.scan.with(&[
        ("queue", &"'goqueue-doctor'"),
        ("now", &NOW),
        ("from", &""),
        ("except", &""),
        ("limit", &100),
    ]);
    let plan = Plan {
        check: "index plan",
        table: "jobs",
        index: "ready",
        good: "jobs are taken in the order of the index `ready`",
    };
    plan.compare(connection, &text).await
}

/// How the server should execute a query.
pub(super) struct Plan {
    pub(super) check: &'static str,
    /// The table behind the prefix.
    pub(super) table: &'static str,
    pub(super) index: &'static str,
    pub(super) good: &'static str,
}

impl Plan {
    /// Asks how the server would execute it, which executes nothing.
    pub(super) async fn compare(
        &self,
        connection: &mut MySqlConnection,
        query: &str,
    ) -> Result<Finding, Fault> {
        let text = format!("EXPLAIN FORMAT=TRADITIONAL {query}");
        let rows = sqlx::raw_sql(AssertSqlSafe(text))
            .fetch_all(&mut *connection)
            .await;
        let fix = format!(
            "`ANALYZE TABLE` on the table `{}`, behind the prefix; if that does not help, drop indexes \
             that were added to it by hand",
            self.table
        );
        const NO_SUCH_INDEX: u16 = 1176;
        let rows = match rows.map_err(Fault::from) {
            Ok(rows) => rows,
            Err(fault) if fault.number() == Some(NO_SUCH_INDEX) => {
                let fix = format!(
                    "create the index `{}` again, as in the migrations",
                    self.index
                );
                return Ok(Finding::problem(self.check, fault.to_string(), fix));
            }
            Err(fault) if fault.is_answer() => {
                return Ok(Finding::unknown(self.check, fault.to_string(), fix));
            }
            Err(fault) => return Err(fault),
        };
        let column = |row: &MySqlRow, name: &str| {
            let value: Result<Option<String>, _> = row.try_get_unchecked(name);
            value.ok().flatten().unwrap_or_default()
        };
        let Some(row) = rows.first() else {
            return Ok(Finding::unknown(
                self.check,
                "the server shows no plan",
                fix,
            ));
        };
        let (key, extra) = (column(row, "key"), column(row, "Extra"));
        if key == self.index && !extra.contains("filesort") && !extra.contains("temporary") {
            return Ok(Finding::good(self.check, self.good));
        }
        let key = if key.is_empty() { "none".into() } else { key };
        Ok(Finding::problem(
            self.check,
            format!("index {key}, {extra}"),
            fix,
        ))
    }
}
