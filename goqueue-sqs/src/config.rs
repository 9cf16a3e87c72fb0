//! The table `[sqs]`, and the options of the URL.

use std::{fmt, sync::Arc, time::Duration};

use goqueue_core::{
    Config, Result,
    config::{ConfigError, deserialize_duration},
    driver::{ConnectFuture, Driver},
};
use serde::Deserialize;

use crate::{
    SqsDriver,
    address::{self, Address},
    driver::NAME,
    limits::{MAX_DELAY, MAX_VISIBILITY, MIN_VISIBILITY, RETENTION},
    names::Names,
};

/// The URL schemes that this driver serves.
pub const SCHEMES: &[&str] = &["sqs"];

/// The table `[sqs]` of the configuration. Options of the URL, `?KEY=VALUE`, go before it, except
/// for the durations.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct SqsConfig {
    /// Whether the queues are FIFO queues: ordering and unique keys, and `.fifo` behind each name.
    pub fifo: bool,
    /// Makes queues that are missing when they are first used. For development.
    pub create_queues: bool,
    /// Another address than the region's own, such as `http://127.0.0.1:4566`.
    pub endpoint: Option<String>,
    /// The profile of the SDK's configuration files to use.
    pub profile: Option<String>,
    /// Static credentials. Needs `secret_access_key`. Without, the SDK looks for credentials in the
    /// environment, the profile, and on the machine.
    pub access_key_id: Option<String>,
    /// The secret of `access_key_id`.
    pub secret_access_key: Option<String>,
    /// The session of temporary static credentials.
    pub session_token: Option<String>,
    /// A role to assume with the credentials found.
    pub role_arn: Option<String>,
    /// What the role asks to be told, where it asks.
    pub external_id: Option<String>,
    /// Another address of the token service, for `role_arn`.
    pub sts_endpoint: Option<String>,
    /// How long an answer may take before the call counts as failed, by default 5 seconds. A long
    /// poll may take as long as it waits on top.
    #[serde(deserialize_with = "deserialize_duration")]
    pub response_timeout: Duration,
    /// How long a connection may take to be made, by default 3 seconds.
    #[serde(deserialize_with = "deserialize_duration")]
    pub connect_timeout: Duration,
    /// The longest delay that one sending can carry, by default the service's 15 minutes. For
    /// implementations that allow less.
    #[serde(deserialize_with = "deserialize_duration")]
    pub max_delay: Duration,
    /// The longest that a message can stay hidden, counted from its receive, by default the
    /// service's 12 hours. For implementations that allow less.
    #[serde(deserialize_with = "deserialize_duration")]
    pub max_visibility: Duration,
}

impl Default for SqsConfig {
    fn default() -> Self {
        Self {
            fifo: false,
            create_queues: false,
            endpoint: None,
            profile: None,
            access_key_id: None,
            secret_access_key: None,
            session_token: None,
            role_arn: None,
            external_id: None,
            sts_endpoint: None,
            response_timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(3),
            max_delay: MAX_DELAY,
            max_visibility: MAX_VISIBILITY,
        }
    }
}

impl fmt::Debug for SqsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqsConfig")
            .field("fifo", &self.fifo)
            .field("create_queues", &self.create_queues)
            .field("has_static_credentials", &self.access_key_id.is_some())
            .field("has_role", &self.role_arn.is_some())
            .finish_non_exhaustive()
    }
}

/// What a driver is made with.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) table: SqsConfig,
    pub(crate) region: Option<String>,
    pub(crate) names: Names,
    pub(crate) dead_retention: Duration,
}

impl Settings {
    pub(crate) fn of(config: &Config) -> Result<Self> {
        let address = Address::parse(&config.driver)?;
        let mut table: SqsConfig = config.driver_table(NAME)?;
        for (key, value) in address::options(&config.driver)? {
            set(&mut table, &key, value)?;
        }
        check_table(&table)?;
        let kept = config.dead_letter.retention;
        if !RETENTION.contains(&kept) {
            let problem = format!("got {kept:?}, allowed on SQS is 1m to 14days");
            return Err(ConfigError::new("dead_letter.retention", problem).into());
        }
        Ok(Self {
            region: address.region,
            names: Names {
                prefix: address.prefix,
                is_fifo: table.fifo,
            },
            table,
            dead_retention: kept,
        })
    }
}

/// Checks the URL and the table `[sqs]` without connecting, for a
/// [`DriverEntry`](goqueue_core::driver::DriverEntry).
///
/// # Errors
/// What [`SqsDriver::connect`] would say about them.
pub fn check(config: &Config) -> Result<()> {
    Settings::of(config).map(drop)
}

/// Connects as the configuration says, for a [`DriverEntry`](goqueue_core::driver::DriverEntry).
#[must_use = "a driver connects when this is awaited"]
pub fn connect(config: Config) -> ConnectFuture {
    Box::pin(async move { Ok(Arc::new(SqsDriver::connect(&config).await?) as Arc<dyn Driver>) })
}

fn set(table: &mut SqsConfig, key: &str, value: String) -> Result<(), ConfigError> {
    let flag = |value: &str| match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(address::wrong(&format!(
            "option `{key}` is `{value}`, allowed are `true` and `false`"
        ))),
    };
    match key {
        "fifo" => table.fifo = flag(&value)?,
        "create_queues" => table.create_queues = flag(&value)?,
        "endpoint" => table.endpoint = Some(value),
        "profile" => table.profile = Some(value),
        "access_key_id" => table.access_key_id = Some(value),
        "secret_access_key" => table.secret_access_key = Some(value),
        "session_token" => table.session_token = Some(value),
        "role_arn" => table.role_arn = Some(value),
        "external_id" => table.external_id = Some(value),
        "sts_endpoint" => table.sts_endpoint = Some(value),
        _ => {
            return Err(address::wrong(&format!(
                "unknown option `{key}`, allowed are `fifo`, `create_queues`, `endpoint`, \
                 `profile`, `access_key_id`, `secret_access_key`, `session_token`, `role_arn`, \
                 `external_id` and `sts_endpoint`"
            )));
        }
    }
    Ok(())
}

fn check_table(table: &SqsConfig) -> Result<(), ConfigError> {
    let missing = |key: &str, with: &str| {
        let problem = format!("missing, needed with `sqs.{with}`");
        Err(ConfigError::new(format!("sqs.{key}"), problem))
    };
    match (&table.access_key_id, &table.secret_access_key) {
        (Some(_), None) => return missing("secret_access_key", "access_key_id"),
        (None, Some(_)) => return missing("access_key_id", "secret_access_key"),
        (None, None) if table.session_token.is_some() => {
            return missing("access_key_id", "session_token");
        }
        _ => {}
    }
    if table.role_arn.is_none() && table.external_id.is_some() {
        return missing("role_arn", "external_id");
    }
    if table.role_arn.is_none() && table.sts_endpoint.is_some() {
        return missing("role_arn", "sts_endpoint");
    }
    for (key, given) in [
        ("endpoint", &table.endpoint),
        ("sts_endpoint", &table.sts_endpoint),
    ] {
        let Some(given) = given else { continue };
        let is_web = url::Url::parse(given).is_ok_and(|url| {
            matches!(url.scheme(), "http" | "https") && url.has_host() && url.password().is_none()
        });
        if !is_web {
            let problem = "allowed is an `http://` or `https://` URL with a host and no password";
            return Err(ConfigError::new(format!("sqs.{key}"), problem));
        }
    }
    let second = Duration::from_secs(1);
    for (key, given, least, most) in [
        (
            "response_timeout",
            table.response_timeout,
            Duration::from_millis(1),
            Duration::MAX,
        ),
        (
            "connect_timeout",
            table.connect_timeout,
            Duration::from_millis(1),
            Duration::MAX,
        ),
        ("max_delay", table.max_delay, second, MAX_DELAY),
        (
            "max_visibility",
            table.max_visibility,
            MIN_VISIBILITY,
            MAX_VISIBILITY,
        ),
    ] {
        if given < least || given > most {
            let most = if most == Duration::MAX {
                "more".into()
            } else {
                format!("{most:?}")
            };
            let problem = format!("got {given:?}, allowed is {least:?} to {most}");
            return Err(ConfigError::new(format!("sqs.{key}"), problem));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(url: &str, table: &str) -> Result<Settings, String> {
        let text = format!("driver = \"{url}\"\n[sqs]\n{table}");
        Settings::of(&Config::from_toml(&text).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn options_of_the_url_go_before_the_table() {
        let settings = settings(
            "sqs://eu-west-1/p-?fifo=true&endpoint=http://127.0.0.1:1",
            "fifo = false\ncreate_queues = true",
        )
        .unwrap();
        assert!(settings.table.fifo && settings.names.is_fifo && settings.table.create_queues);
        assert_eq!(
            settings.table.endpoint.as_deref(),
            Some("http://127.0.0.1:1")
        );
        assert_eq!(
            (settings.region.as_deref(), &*settings.names.prefix),
            (Some("eu-west-1"), "p-")
        );
    }

    #[test]
    fn wrong_values_are_named_with_what_is_allowed() {
        for (url, table, part) in [
            (
                "sqs://r/?nonsense=1",
                "",
                "unknown option `nonsense`, allowed are `fifo`",
            ),
            (
                "sqs://r/?fifo=yes",
                "",
                "option `fifo` is `yes`, allowed are `true` and `false`",
            ),
            (
                "sqs://r/?access_key_id=a",
                "",
                "`sqs.secret_access_key`: missing, needed with `sqs.access_key_id`",
            ),
            (
                "sqs://r/",
                "secret_access_key = \"hunter2\"",
                "`sqs.access_key_id`: missing",
            ),
            (
                "sqs://r/",
                "session_token = \"hunter2\"",
                "`sqs.access_key_id`: missing",
            ),
            (
                "sqs://r/",
                "external_id = \"hunter2\"",
                "`sqs.role_arn`: missing",
            ),
            (
                "sqs://r/",
                "endpoint = \"localhost:4566\"",
                "`sqs.endpoint`: allowed is an `http://`",
            ),
            (
                "sqs://r/",
                "endpoint = \"http://u:hunter2@h\"",
                "`sqs.endpoint`: allowed is",
            ),
            (
                "sqs://r/",
                "max_delay = \"16m\"",
                "`sqs.max_delay`: got 960s, allowed is 1s to 900s",
            ),
            (
                "sqs://r/",
                "max_visibility = \"13h\"",
                "`sqs.max_visibility`: got",
            ),
            (
                "sqs://r/",
                "response_timeout = \"0s\"",
                "`sqs.response_timeout`: got 0ns",
            ),
            ("sqs://r/", "nonsense = 1", "nonsense"),
            (
                "sqs://r/",
                "[dead_letter]\nretention = \"15days\"",
                "allowed on SQS is 1m to 14days",
            ),
        ] {
            let Err(error) = settings(url, table) else {
                panic!("{url} {table}")
            };
            assert!(error.contains(part), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn no_secret_is_shown() {
        let settings = settings(
            "sqs://r/?secret_access_key=hunter2&access_key_id=AKIA22",
            "session_token = \"tok-44\"",
        )
        .unwrap();
        let shown = format!("{:?}", settings.table);
        assert!(
            !["hunter2", "AKIA22", "tok-44"]
                .iter()
                .any(|secret| shown.contains(secret))
        );
    }
}
