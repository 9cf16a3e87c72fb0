//! The URL and the table `[mysql]`.

use std::{path::PathBuf, str::FromStr, sync::Arc, time::Duration};

use goqueue_core::{
    Config, Result,
    config::{ConfigError, deserialize_duration},
    driver::{ConnectFuture, Driver, DriverUrl},
};
use serde::Deserialize;
use sqlx::{
    ConnectOptions,
    mysql::{MySqlConnectOptions, MySqlSslMode},
};
use url::Url;

use crate::{MysqlDriver, driver::NAME};

/// The longest prefix in bytes; leaves room for the tables' own names in MySQL's 64.
const MAX_PREFIX: usize = 32;
/// The most connections that the driver's own pool may have.
const MAX_CONNECTIONS: u32 = 10_000;
/// The shortest poll interval: below it, polling costs more than it can win.
const MIN_POLL: Duration = Duration::from_millis(5);

const URL_FORM: &str =
    "`mysql://user:password@host:3306/database`, with user, password and port as needed";

/// The table `[mysql]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct MysqlConfig {
    /// What the names of the tables begin with: 1 to 32 ASCII letters, digits or `_`. By default
    /// `goqueue`.
    pub prefix: String,
    /// Whether connecting brings the tables up to date. On by default; off, connecting fails when
    /// they are not, and [`migrate`](crate::migrate()) does it.
    pub auto_migrate: bool,
    /// The most connections of the driver's own pool: 1 to 10,000, by default 10.
    pub max_connections: u32,
    /// How often a worker that found nothing looks again: 5 ms or more, by default 90 ms. It looks
    /// sooner after it has found something, and when a job becomes due.
    #[serde(deserialize_with = "deserialize_duration")]
    pub poll_interval: Duration,
    /// How long a call waits for a free connection, and for a new one to be made. By default 5 s.
    #[serde(deserialize_with = "deserialize_duration")]
    pub acquire_timeout: Duration,
    /// How long a call waits for the server's answer before it gives its connection up. By default
    /// 30 s.
    #[serde(deserialize_with = "deserialize_duration")]
    pub answer_timeout: Duration,
}

impl Default for MysqlConfig {
    fn default() -> Self {
        Self {
            prefix: "goqueue".into(),
            auto_migrate: true,
            max_connections: 10,
            poll_interval: Duration::from_millis(90),
            acquire_timeout: Duration::from_secs(5),
            answer_timeout: Duration::from_secs(30),
        }
    }
}

impl MysqlConfig {
    pub(crate) fn of(config: &Config) -> Result<Self> {
        let table: Self = config.driver_table(NAME)?;
        table.check()?;
        Ok(table)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let refuse = |key: &str, given: &dyn std::fmt::Display, allowed: &str| {
            let problem = format!("got {given}, allowed is {allowed}");
            Err(ConfigError::new(format!("{NAME}.{key}"), problem))
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !(1..=MAX_PREFIX).contains(&self.prefix.len()) || !self.prefix.chars().all(is_plain) {
            let given = format!("`{}`", self.prefix);
            return refuse("prefix", &given, "1 to 32 ASCII letters, digits or `_`");
        }
        if !(1..=MAX_CONNECTIONS).contains(&self.max_connections) {
            return refuse("max_connections", &self.max_connections, "1 to 10000");
        }
        if self.poll_interval < MIN_POLL {
            return refuse(
                "poll_interval",
                &format!("{:?}", self.poll_interval),
                "5ms or more",
            );
        }
        for (key, given) in [
            ("acquire_timeout", self.acquire_timeout),
            ("answer_timeout", self.answer_timeout),
        ] {
            if given < Duration::from_millis(100) {
                return refuse(key, &format!("{given:?}"), "100ms or more");
            }
        }
        Ok(())
    }
}

/// Checks the URL and the table `[mysql]` without connecting, for a
/// [`DriverEntry`](goqueue_core::driver::DriverEntry).
///
/// # Errors
/// What [`MysqlDriver::connect`] would say about them.
pub fn check(config: &Config) -> Result<()> {
    MysqlConfig::of(config)?;
    connect_options(&config.driver)?;
    Ok(())
}

/// Connects as the configuration says, for a [`DriverEntry`](goqueue_core::driver::DriverEntry).
#[must_use = "a driver connects when this is awaited"]
pub fn connect(config: Config) -> ConnectFuture {
    Box::pin(async move {
        let driver = MysqlDriver::connect(&config).await?;
        Ok(Arc::new(driver) as Arc<dyn Driver>)
    })
}

/// Reads the URL. Its text is never quoted in an error, since anything in it may be a secret that
/// stands in the wrong place.
pub(crate) fn connect_options(url: &DriverUrl) -> Result<MySqlConnectOptions, ConfigError> {
    let refuse = |problem: String| ConfigError::new("driver", problem);
    if url.scheme() != NAME {
        return Err(refuse(format!(
            "got scheme `{}`, allowed is {URL_FORM}",
            url.scheme()
        )));
    }
    let parsed = Url::parse(url.expose()).map_err(|error| {
        refuse(format!(
            "the URL cannot be read: {error}; allowed is {URL_FORM}"
        ))
    })?;
    if parsed.host_str().is_none_or(str::is_empty) {
        return Err(refuse(format!(
            "the URL has no host; allowed is {URL_FORM}"
        )));
    }
    if parsed.port() == Some(0) {
        return Err(refuse("got port 0, allowed is 1 to 65535".into()));
    }
    let database = parsed.path().trim_start_matches('/');
    if database.is_empty() {
        return Err(refuse(format!(
            "the URL names no database; allowed is {URL_FORM}"
        )));
    }
    if database.contains('/') {
        return Err(refuse(format!(
            "the URL's path is more than a database; allowed is {URL_FORM}"
        )));
    }
    if parsed.fragment().is_some() {
        return Err(refuse(
            "the URL has a `#`; in a password it is written `%23`".into(),
        ));
    }
    let mut options = MySqlConnectOptions::from_str(&without_query(parsed.clone()))
        .map_err(|_| refuse(format!("the URL cannot be read; allowed is {URL_FORM}")))?
        .disable_statement_logging();
    for (key, value) in parsed.query_pairs() {
        options = with_option(options, &key, &value)?;
    }
    Ok(options)
}

fn without_query(mut url: Url) -> String {
    url.set_query(None);
    url.into()
}

fn with_option(
    options: MySqlConnectOptions,
    key: &str,
    value: &str,
) -> Result<MySqlConnectOptions, ConfigError> {
    let file = |value: &str| {
        let path = PathBuf::from(value);
        if path.exists() {
            return Ok(path);
        }
        let problem = format!("option `{key}`: there is no file `{value}`");
        Err(ConfigError::new("driver", problem))
    };
    Ok(match key {
        "ssl-mode" => options.ssl_mode(ssl_mode(value)?),
        "ssl-ca" => options.ssl_ca(file(value)?),
        "ssl-cert" => options.ssl_client_cert(file(value)?),
        "ssl-key" => options.ssl_client_key(file(value)?),
        "socket" => options.socket(file(value)?),
        _ => {
            let problem = format!(
                "unknown option `{key}`, allowed are `ssl-mode`, `ssl-ca`, `ssl-cert`, `ssl-key` \
                 and `socket`; everything else belongs in the table `[{NAME}]`"
            );
            return Err(ConfigError::new("driver", problem));
        }
    })
}

fn ssl_mode(value: &str) -> Result<MySqlSslMode, ConfigError> {
    value.to_ascii_uppercase().parse().map_err(|_| {
        let problem = format!(
            "option `ssl-mode`: got `{value}`, allowed is `disabled`, `preferred`, `required`, \
             `verify_ca` or `verify_identity`"
        );
        ConfigError::new("driver", problem)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(url: &str) -> String {
        connect_options(&DriverUrl::new(url))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_whole_url_is_read() {
        let url = "mysql://user:p%40ss@db.example:3307/shop?ssl-mode=required";
        let options = connect_options(&DriverUrl::new(url)).unwrap();
        assert_eq!(options.get_host(), "db.example");
        assert_eq!(options.get_port(), 3307);
        assert_eq!(options.get_username(), "user");
        assert_eq!(options.get_database(), Some("shop"));
        assert!(connect_options(&DriverUrl::new("mysql://127.0.0.1/shop")).is_ok());
    }

    #[test]
    fn each_wrong_part_of_a_url_is_named_and_no_secret_is() {
        for (url, expected) in [
            ("mysql:///shop", "no host"),
            (
                "mysql://user:hunter2@:3306/shop",
                "cannot be read: empty host",
            ),
            (
                "mysql://user:hunter2@host:99999/shop",
                "invalid port number",
            ),
            ("mysql://user:hunter2@host:0/shop", "port 0"),
            ("mysql://user:hunter2@host:x/shop", "invalid port number"),
            ("mysql://user:hunter2@host:3306", "names no database"),
            ("mysql://user:hunter2@host:3306/", "names no database"),
            (
                "mysql://user:hunter2@host/shop/orders",
                "more than a database",
            ),
            ("mysql://user:hun#ter2@host/shop", "invalid port number"),
            ("mysql://user:hunter2@host/shop#x", "`#`"),
            (
                "mysql://user:hunter2@host/shop?ssl-mode=maybe",
                "got `maybe`, allowed is `disabled`",
            ),
            (
                "mysql://user:hunter2@host/shop?sslmode=required",
                "unknown option `sslmode`",
            ),
            (
                "mysql://user:hunter2@host/shop?ssl-ca=/no/such.pem",
                "no file `/no/such.pem`",
            ),
            (
                "mysql://user:hunter2@host/shop?socket=/no/such.sock",
                "no file `/no/such.sock`",
            ),
            ("postgres://user:hunter2@host/shop", "scheme `postgres`"),
        ] {
            let problem = problem(url);
            assert!(problem.contains(expected), "{url}: {problem}");
            assert!(
                !problem.contains("hunter2") && !problem.contains("ter2"),
                "{problem}"
            );
        }
    }

    #[test]
    fn the_table_is_checked() {
        for (table, expected) in [
            (
                "prefix = \"a-b\"",
                "`mysql.prefix`: got `a-b`, allowed is 1 to 32 ASCII letters",
            ),
            ("prefix = \"\"", "`mysql.prefix`"),
            (
                "max_connections = 0",
                "`mysql.max_connections`: got 0, allowed is 1 to 10000",
            ),
            (
                "poll_interval = \"1ms\"",
                "`mysql.poll_interval`: got 1ms, allowed is 5ms or more",
            ),
            ("answer_timeout = \"1ms\"", "`mysql.answer_timeout`"),
            ("pool = 3", "unknown field `pool`"),
        ] {
            let config = Config::from_toml(&format!("[mysql]\n{table}")).unwrap();
            let problem = MysqlConfig::of(&config).unwrap_err().to_string();
            assert!(problem.contains(expected), "{table}: {problem}");
        }
        let config = Config::from_toml("[mysql]\nprefix = \"shop\"\nauto_migrate = false").unwrap();
        let table = MysqlConfig::of(&config).unwrap();
        assert_eq!((table.prefix.as_str(), table.auto_migrate), ("shop", false));
    }
}
