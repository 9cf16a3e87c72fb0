//! Bringing the tables up to date.

use goqueue_core::{
    Config, Error, Result,
    config::ConfigError,
    driver::{MigrateFuture, SchemaChange},
};
use sqlx::{Connection, MySqlConnection};

use crate::{
    config::{self, MysqlConfig},
    connections::{Answer, dial, send},
    driver::NAME,
    error::Fault,
    hash, row,
    sql::{Message, Template},
};

/// One step of the schema. Steps are only ever added, and an old program must be able to work on
/// with what a newer one has added while both run; `understood_from` says so when it cannot.
struct Step {
    version: u32,
    text: &'static str,
    /// The oldest version a program may be written for and still work on these tables.
    understood_from: u32,
}

macro_rules! steps {
    ($($version:literal $file:literal understood_from $understood_from:literal)+) => {
        &[$(Step {
            version: $version,
            text: include_str!(concat!("../migrations/", $file, ".sql")),
            understood_from: $understood_from,
        }),+]
    };
}

const STEPS: &[Step] = steps! {
    1 "0001_jobs" understood_from 1
    2 "0002_queue_messages" understood_from 1
    3 "0003_queue_delivery_state" understood_from 1
    4 "0004_queue_offsets" understood_from 1
    5 "0005_queue_partition_leases" understood_from 1
    6 "0006_queue_subscriber_heartbeats" understood_from 1
};

/// The version that this program is written for.
pub(crate) const OURS: u32 = STEPS[STEPS.len() - 1].version;
/// How long one program waits for another that brings the tables up to date, in seconds.
const LOCK_WAIT: u32 = 60;

/// What kind of server this is, and how it is set up.
const SERVER: &str = "SELECT VERSION() AS version, @@max_allowed_packet AS max_packet, \
                      @@autocommit AS autocommit, DATABASE() AS db";

const OLDEST_MARIADB: (u32, u32) = (10, 6);
const OLDEST_MYSQL: (u32, u32) = (8, 0);

/// What [`migrate`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migrated {
    /// The version of the tables before; 0 is none.
    pub from: u32,
    /// The version now.
    pub to: u32,
}

/// What the driver has to know of a server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) max_packet: usize,
}

/// Brings the tables up to date, whatever `mysql.auto_migrate` says. Any number of programs may do
/// so at once; on tables that are up to date it changes nothing.
///
/// # Errors
/// As for [`MysqlDriver::connect`](crate::MysqlDriver::connect). It needs the right to create and
/// alter tables.
pub async fn migrate(config: &Config) -> Result<Migrated> {
    let settings = MysqlConfig::of(config)?;
    let options = config::connect_options(&config.driver)?;
    let work = async {
        let mut connection = dial(&options, settings.acquire_timeout).await?;
        let database = check_server(&mut connection).await?.1;
        let migrated = bring_up(&mut connection, &settings.prefix, &database).await?;
        // Nothing is lost when the farewell is.
        let _ = connection.close().await;
        Ok(migrated)
    };
    let migrated: Result<Migrated, Fault> = work.await;
    migrated.map_err(|fault| fault.during("migrate"))
}

/// The same for a [`DriverEntry`](goqueue_core::driver::DriverEntry).
#[must_use = "the tables are brought up to date when this is awaited"]
pub fn migrate_schema(config: Config) -> MigrateFuture {
    Box::pin(async move {
        let Migrated { from, to } = migrate(&config).await?;
        Ok(SchemaChange { from, to })
    })
}

/// Checks the server and the tables, and brings them up to date where the settings say so.
pub(crate) async fn prepare(
    connection: &mut MySqlConnection,
    settings: &MysqlConfig,
) -> Result<Server, Fault> {
    let (server, database) = check_server(connection).await?;
    let state = state(connection, &settings.prefix).await?;
    if state.understood_from > OURS {
        return Err(Error::from(ConfigError::new(
            "mysql.prefix",
            format!(
                "the tables `{}_*` are of version {}, which a program needs to know version {} of \
                 to work with; this one knows up to {OURS}: update it",
                settings.prefix, state.version, state.understood_from
            ),
        ))
        .into());
    }
    if state.version < OURS {
        if !settings.auto_migrate {
            return Err(Error::from(ConfigError::new(
                "mysql.auto_migrate",
                format!(
                    "the tables `{}_*` are of version {}, this program needs {OURS}: run `goqueue \
                     migrate`, or turn `auto_migrate` on",
                    settings.prefix, state.version
                ),
            ))
            .into());
        }
        bring_up(connection, &settings.prefix, &database).await?;
    }
    Ok(server)
}

async fn check_server(connection: &mut MySqlConnection) -> Result<(Server, String), Fault> {
    let answers = ask(connection, SERVER).await?;
    let Some(answer) = answers.first().and_then(|answer| answer.rows.first()) else {
        return Err(Fault::Unusable("the server does not say what it is".into()));
    };
    let version: String = row::get(answer, "version")?;
    check_version(&version)?;
    let autocommit: i64 = row::get(answer, "autocommit")?;
    if autocommit == 0 {
        return Err(Fault::Unusable(
            "sessions of this pool have autocommit off, so what is enqueued would be lost".into(),
        ));
    }
    let database: Option<String> = row::get(answer, "db")?;
    let Some(database) = database else {
        return Err(Fault::Unusable(
            "the connection has no database selected".into(),
        ));
    };
    let max_packet: u64 = row::get(answer, "max_packet")?;
    let max_packet = usize::try_from(max_packet).unwrap_or(usize::MAX);
    Ok((Server { max_packet }, database))
}

/// Reads what `SELECT VERSION()` says: `10.11.6-MariaDB-…`, `8.4.0`, `9.1.0-…`.
pub(crate) fn check_version(version: &str) -> Result<(), Fault> {
    let mut numbers = version
        .split(|c: char| !c.is_ascii_digit())
        .map_while(|n| n.parse().ok());
    let found: (u32, u32) = (
        numbers.next().unwrap_or_default(),
        numbers.next().unwrap_or_default(),
    );
    let (name, oldest) = if version.to_ascii_lowercase().contains("mariadb") {
        ("MariaDB", OLDEST_MARIADB)
    } else {
        ("MySQL", OLDEST_MYSQL)
    };
    if found >= oldest {
        return Ok(());
    }
    Err(Fault::Unusable(format!(
        "the server is {name} `{version}`, which has no SKIP LOCKED; needed is {name} {}.{} or later",
        oldest.0, oldest.1
    )))
}

pub(crate) struct State {
    pub(crate) version: u32,
    pub(crate) understood_from: u32,
}

pub(crate) async fn state(connection: &mut MySqlConnection, prefix: &str) -> Result<State, Fault> {
    const NO_SUCH_TABLE: u16 = 1146;
    let text = format!(
        "SELECT COALESCE(MAX(version), 0) AS version, \
         COALESCE(MAX(understood_from), 0) AS understood_from FROM {prefix}_migrations"
    );
    let answers = match ask(connection, &text).await {
        Ok(answers) => answers,
        Err(fault) if fault.number() == Some(NO_SUCH_TABLE) => {
            return Ok(State {
                version: 0,
                understood_from: 0,
            });
        }
        Err(fault) => return Err(fault),
    };
    match answers.first().and_then(|answer| answer.rows.first()) {
        Some(answer) => Ok(State {
            version: row::get(answer, "version")?,
            understood_from: row::get(answer, "understood_from")?,
        }),
        None => Ok(State {
            version: 0,
            understood_from: 0,
        }),
    }
}

/// Applies what is missing, one program at a time.
async fn bring_up(
    connection: &mut MySqlConnection,
    prefix: &str,
    database: &str,
) -> Result<Migrated, Fault> {
    let lock = lock_name(prefix, database);
    let answers = ask(
        connection,
        &format!("SELECT GET_LOCK('{lock}', {LOCK_WAIT}) AS got"),
    )
    .await?;
    let got: Option<i64> = match answers.first().and_then(|answer| answer.rows.first()) {
        Some(answer) => row::get(answer, "got")?,
        None => None,
    };
    if got != Some(1) {
        return Err(Fault::Unusable(format!(
            "another program has been changing the tables `{prefix}_*` for more than {LOCK_WAIT} s"
        )));
    }
    let migrated = apply(connection, prefix).await;
    // The lock goes with the connection at the latest.
    let _ = ask(connection, &format!("SELECT RELEASE_LOCK('{lock}')")).await;
    migrated
}

async fn apply(connection: &mut MySqlConnection, prefix: &str) -> Result<Migrated, Fault> {
    let table = format!(
        "CREATE TABLE IF NOT EXISTS {prefix}_migrations (\
         version INT UNSIGNED NOT NULL PRIMARY KEY, understood_from INT UNSIGNED NOT NULL, \
         applied_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP) ENGINE=InnoDB"
    );
    ask(connection, &table).await?;
    let from = state(connection, prefix).await?.version;
    for step in STEPS.iter().filter(|step| step.version > from) {
        // A table cannot be made inside a transaction; a step that was interrupted starts over, so
        // each of its statements says `IF NOT EXISTS`.
        let text = Template::new(step.text, prefix).with(&[]);
        for statement in text
            .split(';')
            .map(str::trim)
            .filter(|text| !text.is_empty())
        {
            ask(connection, statement).await?;
        }
        let note = format!(
            "INSERT IGNORE INTO {prefix}_migrations (version, understood_from) VALUES ({}, {})",
            step.version, step.understood_from
        );
        ask(connection, &note).await?;
        tracing::info!(version = step.version, prefix, "applied a migration");
    }
    Ok(Migrated {
        from,
        to: from.max(OURS),
    })
}

/// Named locks are the server's, not the database's, and have at most 64 characters.
fn lock_name(prefix: &str, database: &str) -> String {
    let hash = hash::fnv1a(format!("{database}\0{prefix}").bytes());
    format!("{NAME}-goqueue-migrate-{hash:016x}")
}

async fn ask(connection: &mut MySqlConnection, text: &str) -> Result<Vec<Answer>, Fault> {
    Ok(send(connection, Message::of(text)).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_servers_are_refused_by_name() {
        for version in [
            "10.6.0-MariaDB",
            "10.11.19-MariaDB-0+deb12u1",
            "11.4.2-MariaDB",
            "8.0.36",
            "9.7.4",
        ] {
            assert!(check_version(version).is_ok(), "{version}");
        }
        for (version, name) in [
            ("10.5.9-MariaDB", "MariaDB 10.6"),
            ("5.7.44-log", "MySQL 8.0"),
            ("what", "MySQL 8.0"),
        ] {
            let problem = check_version(version).unwrap_err().to_string();
            assert!(
                problem.contains(name) && problem.contains(version),
                "{problem}"
            );
        }
    }

    #[test]
    fn steps_are_numbered_without_gaps() {
        for (at, step) in STEPS.iter().enumerate() {
            assert_eq!(step.version as usize, at + 1);
            assert!((1..=step.version).contains(&step.understood_from));
        }
    }

    #[test]
    fn lock_names_fit_and_differ() {
        let name = lock_name(&"p".repeat(32), &"d".repeat(64));
        assert!(name.len() <= 64);
        assert_ne!(lock_name("a", "bc"), lock_name("c", "ab"));
    }
}
