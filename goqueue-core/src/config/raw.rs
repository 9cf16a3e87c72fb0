//! The file as it is written, before its values are checked against each other.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use serde_json::Value;

use super::{
    Config, ConfigError, DeadLetterConfig, DriverTables, MAX_CONCURRENCY, MAX_LEASE, MAX_WEIGHT,
    MIN_LEASE, WorkerConfig, duration, settings::Sources,
};
use crate::{
    dead_letter::DeadLetterMode,
    driver::DriverUrl,
    job::QueueName,
    retry::{DEFAULT_MAX_ATTEMPTS, RetryPolicy},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawConfig {
    driver: String,
    #[serde(deserialize_with = "duration::deserialize")]
    enqueue_timeout: Duration,
    worker: RawWorker,
    retry: RawRetry,
    dead_letter: RawDeadLetter,
    memory: Option<Value>,
    redis: Option<Value>,
    mysql: Option<Value>,
    sqs: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawWorker {
    concurrency: usize,
    #[serde(deserialize_with = "duration::deserialize")]
    lease: Duration,
    #[serde(deserialize_with = "duration::deserialize")]
    shutdown_grace: Duration,
    #[serde(deserialize_with = "duration::option")]
    timeout: Option<Duration>,
    queues: BTreeMap<String, u32>,
    strict: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawRetry {
    max_attempts: u32,
    #[serde(deserialize_with = "duration::deserialize")]
    initial_delay: Duration,
    multiplier: f64,
    #[serde(deserialize_with = "duration::deserialize")]
    max_delay: Duration,
    jitter: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawDeadLetter {
    mode: DeadLetterMode,
    #[serde(deserialize_with = "duration::deserialize")]
    retention: Duration,
}

impl Default for RawConfig {
    fn default() -> Self {
        let config = Config::default();
        Self {
            driver: config.driver.expose().into(),
            enqueue_timeout: config.enqueue_timeout,
            worker: RawWorker::default(),
            retry: RawRetry::default(),
            dead_letter: RawDeadLetter::default(),
            memory: None,
            redis: None,
            mysql: None,
            sqs: None,
        }
    }
}

impl Default for RawWorker {
    fn default() -> Self {
        let WorkerConfig {
            concurrency,
            lease,
            shutdown_grace,
            timeout,
            strict,
            ..
        } = WorkerConfig::default();
        Self {
            concurrency,
            lease,
            shutdown_grace,
            timeout,
            queues: BTreeMap::new(),
            strict,
        }
    }
}

impl Default for RawRetry {
    fn default() -> Self {
        Self {
            max_attempts: DEFAULT_MAX_ATTEMPTS,
            initial_delay: Duration::from_secs(2),
            multiplier: 2.0,
            max_delay: Duration::from_secs(600),
            jitter: 0.0,
        }
    }
}

impl Default for RawDeadLetter {
    fn default() -> Self {
        let DeadLetterConfig { mode, retention } = DeadLetterConfig::default();
        Self { mode, retention }
    }
}

impl TryFrom<RawConfig> for Config {
    type Error = ConfigError;

    fn try_from(raw: RawConfig) -> Result<Self, ConfigError> {
        let tables = [
            ("memory", raw.memory),
            ("redis", raw.redis),
            ("mysql", raw.mysql),
            ("sqs", raw.sqs),
        ];
        let tables = tables
            .into_iter()
            .filter_map(|(name, table)| Some((name.into(), table?)));
        within(
            "enqueue_timeout",
            raw.enqueue_timeout,
            Duration::from_millis(1),
        )?;
        Ok(Self {
            driver: DriverUrl::new(raw.driver),
            enqueue_timeout: raw.enqueue_timeout,
            worker: raw.worker.try_into()?,
            retry: raw.retry.try_into()?,
            dead_letter: DeadLetterConfig {
                mode: raw.dead_letter.mode,
                retention: raw.dead_letter.retention,
            },
            tables: DriverTables(tables.collect()),
            sources: Sources::default(),
        })
    }
}

impl TryFrom<RawWorker> for WorkerConfig {
    type Error = ConfigError;

    fn try_from(raw: RawWorker) -> Result<Self, ConfigError> {
        if !(1..=MAX_CONCURRENCY).contains(&raw.concurrency) {
            let problem = format!("got {}, allowed is 1 to {MAX_CONCURRENCY}", raw.concurrency);
            return Err(ConfigError::new("worker.concurrency", problem));
        }
        within("worker.lease", raw.lease, MIN_LEASE)?;
        if raw.lease > MAX_LEASE {
            let problem = format!("got {:?}, allowed is {MAX_LEASE:?} or less", raw.lease);
            return Err(ConfigError::new("worker.lease", problem));
        }
        if let Some(timeout) = raw.timeout {
            within("worker.timeout", timeout, Duration::from_millis(1))?;
        }
        let mut queues = BTreeMap::new();
        for (name, weight) in raw.queues {
            let key = format!("worker.queues.{name}");
            if !(1..=MAX_WEIGHT).contains(&weight) {
                let problem = format!("got weight {weight}, allowed is 1 to {MAX_WEIGHT}");
                return Err(ConfigError::new(key, problem));
            }
            let name = QueueName::new(name).map_err(|e| ConfigError::new(key, e.to_string()))?;
            queues.insert(name, weight);
        }
        Ok(Self {
            concurrency: raw.concurrency,
            lease: raw.lease,
            shutdown_grace: raw.shutdown_grace,
            timeout: raw.timeout,
            queues,
            strict: raw.strict,
        })
    }
}

impl TryFrom<RawRetry> for RetryPolicy {
    type Error = ConfigError;

    fn try_from(raw: RawRetry) -> Result<Self, ConfigError> {
        let refuse = |key: &str, given: &dyn std::fmt::Display, allowed: &str| {
            Err(ConfigError::new(
                format!("retry.{key}"),
                format!("got {given}, allowed is {allowed}"),
            ))
        };
        if raw.max_attempts == 0 {
            return refuse("max_attempts", &0, "1 or more (it counts the first run)");
        }
        if !(raw.multiplier >= 1.0 && raw.multiplier.is_finite()) {
            return refuse("multiplier", &raw.multiplier, "1.0 or more");
        }
        if !(0.0..=1.0).contains(&raw.jitter) {
            return refuse("jitter", &raw.jitter, "0.0 to 1.0");
        }
        Ok(Self::exponential(raw.initial_delay)
            .multiplier(raw.multiplier)
            .max_delay(raw.max_delay)
            .jitter(raw.jitter)
            .max_attempts(raw.max_attempts))
    }
}

fn within(key: &str, given: Duration, least: Duration) -> Result<(), ConfigError> {
    if given >= least {
        return Ok(());
    }
    Err(ConfigError::new(
        key,
        format!("got {given:?}, allowed is {least:?} or more"),
    ))
}
