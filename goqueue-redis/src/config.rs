//! The table `[redis]` and the forms of the URL.

use std::{path::PathBuf, sync::Arc, time::Duration};

use goqueue_core::{
    Config, Result,
    config::{ConfigError, deserialize_duration},
    driver::{ConnectFuture, Driver},
};
use redis::{ClientTlsConfig, TlsCertificates};
use serde::Deserialize;

use crate::{RedisDriver, address::Address, driver::NAME};

/// The URL schemes that this driver serves.
pub const SCHEMES: &[&str] = &[
    "redis",
    "rediss",
    "redis+unix",
    "redis-cluster",
    "rediss-cluster",
];

/// The longest prefix, in bytes.
pub const MAX_PREFIX: usize = 64;

/// The table `[redis]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct RedisConfig {
    /// What every key begins with, by default `goqueue`: 1 to [`MAX_PREFIX`] ASCII letters, digits,
    /// `_`, `-`, `.` or `:`. Programs with different prefixes share nothing.
    pub prefix: String,
    /// How long an answer may take before the line counts as broken, by default 5 seconds.
    #[serde(deserialize_with = "deserialize_duration")]
    pub response_timeout: Duration,
    /// How long a connection may take to be made, by default 3 seconds.
    #[serde(deserialize_with = "deserialize_duration")]
    pub connect_timeout: Duration,
    /// A PEM file with the certificates that the server's is checked against, instead of those of
    /// the system. For URLs with TLS.
    pub ca_file: Option<PathBuf>,
    /// A PEM file with the certificate that the server is shown. Needs `client_key_file`.
    pub client_cert_file: Option<PathBuf>,
    /// A PEM file with the private key of that certificate.
    pub client_key_file: Option<PathBuf>,
}

impl Default for RedisConfig {
    fn default() -> Self {
        Self {
            prefix: "goqueue".into(),
            response_timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(3),
            ca_file: None,
            client_cert_file: None,
            client_key_file: None,
        }
    }
}

/// What a driver is made with.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) address: Address,
    pub(crate) certificates: Option<TlsCertificates>,
    pub(crate) prefix: String,
    pub(crate) response_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) retention: Duration,
}

impl Settings {
    pub(crate) fn of(config: &Config) -> Result<Self> {
        let table: RedisConfig = config.driver_table(NAME)?;
        check_prefix(&table.prefix)?;
        for (key, given) in [
            ("redis.response_timeout", table.response_timeout),
            ("redis.connect_timeout", table.connect_timeout),
        ] {
            if given < Duration::from_millis(1) {
                let problem = format!("got {given:?}, allowed is 1ms or more");
                return Err(ConfigError::new(key, problem).into());
            }
        }
        let address = Address::parse(&config.driver)?;
        Ok(Self {
            certificates: certificates(&table, &address)?,
            address,
            prefix: table.prefix,
            response_timeout: table.response_timeout,
            connect_timeout: table.connect_timeout,
            retention: config.dead_letter.retention,
        })
    }
}

/// Checks the URL and the table `[redis]` without connecting, for a
/// [`DriverEntry`](goqueue_core::driver::DriverEntry).
///
/// # Errors
/// What [`RedisDriver::connect`] would say about them.
pub fn check(config: &Config) -> Result<()> {
    Settings::of(config).map(drop)
}

/// Connects as the configuration says, for a [`DriverEntry`](goqueue_core::driver::DriverEntry).
#[must_use = "a driver connects when this is awaited"]
pub fn connect(config: Config) -> ConnectFuture {
    Box::pin(async move { Ok(Arc::new(RedisDriver::connect(&config).await?) as Arc<dyn Driver>) })
}

/// Braces would change which part of a key decides its slot.
fn check_prefix(prefix: &str) -> Result<(), ConfigError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte);
    if (1..=MAX_PREFIX).contains(&prefix.len()) && prefix.bytes().all(fits) {
        return Ok(());
    }
    let problem = format!(
        "got `{prefix}`, allowed are 1 to {MAX_PREFIX} ASCII letters, digits, `_`, `-`, `.` or `:`"
    );
    Err(ConfigError::new("redis.prefix", problem))
}

fn certificates(
    table: &RedisConfig,
    address: &Address,
) -> Result<Option<TlsCertificates>, ConfigError> {
    let files = [
        ("redis.ca_file", &table.ca_file),
        ("redis.client_cert_file", &table.client_cert_file),
        ("redis.client_key_file", &table.client_key_file),
    ];
    let given = files.iter().find(|(_, file)| file.is_some());
    if let (Some((key, _)), false) = (given, address.has_tls()) {
        let problem =
            "given for a URL without TLS; allowed with `rediss://` and `rediss-cluster://`";
        return Err(ConfigError::new(*key, problem));
    }
    let [ca, cert, client_key] = files.map(|(key, file)| read(key, file.as_ref()));
    let client_tls = match (cert?, client_key?) {
        (None, None) => None,
        (Some(client_cert), Some(client_key)) => Some(ClientTlsConfig {
            client_cert,
            client_key,
        }),
        (Some(_), None) => {
            let problem = "missing, needed with `redis.client_cert_file`";
            return Err(ConfigError::new("redis.client_key_file", problem));
        }
        (None, Some(_)) => {
            let problem = "missing, needed with `redis.client_key_file`";
            return Err(ConfigError::new("redis.client_cert_file", problem));
        }
    };
    let root_cert = ca?;
    let is_any = root_cert.is_some() || client_tls.is_some();
    Ok(is_any.then_some(TlsCertificates {
        client_tls,
        root_cert,
    }))
}

fn read(key: &str, file: Option<&PathBuf>) -> Result<Option<Vec<u8>>, ConfigError> {
    let Some(file) = file else { return Ok(None) };
    let read = std::fs::read(file).map_err(|error| {
        ConfigError::new(key, format!("`{}` cannot be read: {error}", file.display()))
    })?;
    if !read.windows(11).any(|window| window == b"-----BEGIN ") {
        return Err(ConfigError::new(
            key,
            format!("`{}` is no PEM file", file.display()),
        ));
    }
    Ok(Some(read))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(toml: &str) -> Result<Settings, String> {
        Settings::of(&Config::from_toml(toml).unwrap()).map_err(|error| error.to_string())
    }

    const URL: &str = "driver = \"redis://127.0.0.1\"\n";

    #[test]
    fn an_absent_table_is_the_default() {
        let settings = settings(URL).unwrap();
        assert_eq!(settings.prefix, "goqueue");
        assert_eq!(settings.response_timeout, Duration::from_secs(5));
        assert!(settings.certificates.is_none());
    }

    #[test]
    fn wrong_values_are_named_with_what_is_allowed() {
        let cases = [
            (
                "prefix = \"a{b}\"",
                "config key `redis.prefix`: got `a{b}`, allowed are 1 to 64 ASCII",
            ),
            (
                "prefix = \"\"",
                "config key `redis.prefix`: got ``, allowed are 1 to 64",
            ),
            (
                "response_timeout = \"0s\"",
                "config key `redis.response_timeout`: got 0ns, allowed is",
            ),
            (
                "response_timeout = 5",
                "config key `redis.response_timeout`: invalid type",
            ),
            (
                "prefiks = \"x\"",
                "config key `redis.prefiks`: unknown field `prefiks`",
            ),
            (
                "ca_file = \"/nowhere/ca.pem\"",
                "config key `redis.ca_file`: given for a URL without",
            ),
        ];
        for (line, expected) in cases {
            let error = settings(&format!("{URL}[redis]\n{line}\n")).err().unwrap();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn certificate_files_are_read_and_come_in_pairs() {
        let cases = [
            (
                "ca_file = \"/nowhere/ca.pem\"",
                "`redis.ca_file`: `/nowhere/ca.pem` cannot be read",
            ),
            (
                "ca_file = \"/dev/null\"",
                "`redis.ca_file`: `/dev/null` is no PEM file",
            ),
        ];
        for (line, expected) in cases {
            let toml = format!("driver = \"rediss://127.0.0.1\"\n[redis]\n{line}\n");
            let error = settings(&toml).err().unwrap();
            assert!(error.contains(expected), "{error}");
        }
    }
}
