//! Looking for what is wrong with a server and its tables, and saying how to mend it.

mod checks;
mod log;
mod tables;

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use goqueue_core::{
    Config,
    driver::{DiagnoseFuture, Finding},
};
use sqlx::{Connection, MySqlConnection, mysql::MySqlConnectOptions};
use tokio::time::{Instant, timeout};

use crate::{
    clock::NOW,
    config::{self, MysqlConfig},
    connections::{Answer, dial, send},
    error::Fault,
    row,
    sql::{Message, Statements},
};

/// The rights that the driver's user needs on its tables.
const RIGHTS: &str = "SELECT, INSERT, UPDATE, DELETE";

/// Diagnoses the server that the configuration names, for a
/// [`DriverEntry`](goqueue_core::driver::DriverEntry). It changes nothing.
#[must_use = "a diagnosis is made when this is awaited"]
pub fn diagnose(config: Config) -> DiagnoseFuture {
    Box::pin(async move {
        let settings = MysqlConfig::of(&config);
        let options = config::connect_options(&config.driver);
        match (settings, options) {
            (Ok(settings), Ok(options)) => {
                let lease = lease(&config, &settings);
                let mut findings = look(&settings, &options).await;
                findings.push(lease);
                findings
            }
            (Err(error), _) => vec![wrong_setting(&error.to_string())],
            (_, Err(error)) => vec![wrong_setting(&error.to_string())],
        }
    })
}

fn wrong_setting(problem: &str) -> Finding {
    Finding::problem("configuration", problem, "correct the setting")
}

async fn look(settings: &MysqlConfig, options: &MySqlConnectOptions) -> Vec<Finding> {
    let mut connection = match dial(options, settings.acquire_timeout).await {
        Ok(connection) => connection,
        Err(fault) => return vec![unreachable(fault)],
    };
    let mut findings = Vec::new();
    let looked = timeout(
        settings.answer_timeout,
        look_around(&mut connection, settings, &mut findings),
    );
    let fault = match looked.await {
        Ok(Ok(())) => None,
        Ok(Err(fault)) => Some(fault),
        Err(_) => Some(Fault::Silent(settings.answer_timeout)),
    };
    if let Some(fault) = fault {
        findings.push(unreachable(fault));
    }
    // Nothing is lost when the farewell is.
    let _ = connection.close().await;
    findings
}

async fn look_around(
    connection: &mut MySqlConnection,
    settings: &MysqlConfig,
    findings: &mut Vec<Finding>,
) -> Result<(), Fault> {
    let sql = Statements::new(&settings.prefix);
    let asked = Instant::now();
    connection.ping().await?;
    findings.push(reachable(asked.elapsed()));

    let mut message = Message::new();
    message.put(&sql.diagnose_server, &[]);
    let variables = variables(&send(connection, message).await?)?;
    findings.extend(checks::all(&variables, settings));

    let sent = unix_millis();
    let now = number(connection, &format!("SELECT {NOW} AS n")).await?;
    findings.push(checks::clock(now, sent, unix_millis()));
    findings.extend(tables::look(connection, &sql, settings).await?);
    Ok(())
}

fn reachable(took: Duration) -> Finding {
    let found = format!("answers within {took:.1?}");
    if took < Duration::from_secs(1) {
        return Finding::good("reachable", found);
    }
    Finding::warning(
        "reachable",
        found,
        "look for what keeps the server: `SHOW PROCESSLIST`",
    )
}

fn unreachable(fault: Fault) -> Finding {
    const ACCESS_DENIED: u16 = 1045;
    const ACCESS_DENIED_TO_DATABASE: u16 = 1044;
    const NO_SUCH_DATABASE: u16 = 1049;
    let fix = match fault.number() {
        Some(ACCESS_DENIED) => {
            "correct the user and the password in the URL; special characters are percent-encoded"
        }
        Some(ACCESS_DENIED_TO_DATABASE) => {
            "let the user into the database: `GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX \
             ON DATABASE.* TO USER`"
        }
        Some(NO_SUCH_DATABASE) => "create the database, or correct its name in the URL",
        _ => "see that a server runs there and that this machine may connect to it",
    };
    let error = fault.during("connect");
    Finding::problem("reachable", error.to_string(), fix)
}

/// A lease is extended from a quarter of it on: an answer that is late must not cost the lease.
fn lease(config: &Config, settings: &MysqlConfig) -> Finding {
    const CHECK: &str = "lease against timeout";
    let (lease, timeout) = (config.worker.lease, settings.answer_timeout);
    let found = format!("`worker.lease` {lease:?}, `mysql.answer_timeout` {timeout:?}");
    if lease / 2 >= timeout {
        return Finding::good(CHECK, found);
    }
    let least = timeout * 2;
    let fix = format!(
        "raise `worker.lease` to {least:?} or more, or lower `mysql.answer_timeout`: one answer that \
         does not come would cost every lease"
    );
    Finding::warning(CHECK, found, fix)
}

fn variables(answers: &[Answer]) -> Result<BTreeMap<String, String>, Fault> {
    let rows = answers.iter().flat_map(|answer| &answer.rows);
    rows.map(|row| Ok((row::get(row, "Variable_name")?, row::get(row, "Value")?)))
        .collect()
}

async fn number(connection: &mut MySqlConnection, text: &str) -> Result<u64, Fault> {
    let answers = send(connection, Message::of(text)).await?;
    match answers.first().and_then(|answer| answer.rows.first()) {
        Some(answer) => Ok(u64::try_from(row::get::<i64>(answer, "n")?).unwrap_or_default()),
        None => Ok(0),
    }
}

fn unix_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}
