//! Every setting as text, for people: what is in force, and where it was set.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde_json::Value;

use super::{Config, load::is_secret};

/// One setting that is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setting {
    /// The key, as in the file: `worker.lease`.
    pub key: String,
    /// Its value, as it would be written in the file, without quotes. `***` in place of a secret.
    pub value: String,
    /// The file or the variable that set it; `None` when it is the default.
    pub source: Option<String>,
}

/// Which file or variable set which key.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources(BTreeMap<String, String>);

impl Sources {
    pub(super) fn add(&mut self, key: impl Into<String>, source: impl Into<String>) {
        self.0.insert(key.into(), source.into());
    }

    /// The file or the variable that set `key`.
    pub(super) fn of(&self, key: &str) -> Option<String> {
        self.0.get(key).cloned()
    }

    /// Notes every key below `value`.
    pub(super) fn add_all(&mut self, value: &Value, origin: &dyn Fn(&str) -> Option<String>) {
        leaves("", value, &mut |key, _| {
            if let Some(source) = origin(key) {
                self.add(key, source);
            }
        });
    }
}

impl Config {
    /// Every setting that is in force, the defaults included, in the order of the documentation. Of
    /// the drivers' own tables only what was set is known here. No secret is among them.
    #[must_use]
    pub fn settings(&self) -> Vec<Setting> {
        let mut list = List {
            sources: &self.sources,
            settings: Vec::new(),
        };
        list.put("driver", &self.driver);
        list.put("enqueue_timeout", &written(self.enqueue_timeout));
        self.put_worker(&mut list);
        self.put_retry(&mut list);
        list.put("dead_letter.mode", &mode(self));
        list.put(
            "dead_letter.retention",
            &written(self.dead_letter.retention),
        );
        for (name, table) in &self.tables.0 {
            leaves(name, table, &mut |key, value| match value {
                _ if is_secret(key) => list.put(key, &"***"),
                Value::String(text) => list.put(key, text),
                other => list.put(key, other),
            });
        }
        list.settings
    }

    fn put_worker(&self, list: &mut List<'_>) {
        let worker = &self.worker;
        list.put("worker.concurrency", &worker.concurrency);
        list.put("worker.lease", &written(worker.lease));
        list.put("worker.shutdown_grace", &written(worker.shutdown_grace));
        match worker.timeout {
            Some(timeout) => list.put("worker.timeout", &written(timeout)),
            None => list.put("worker.timeout", &"no limit"),
        }
        if worker.queues.is_empty() {
            list.put("worker.queues", &"those of the job types, and default");
        }
        for (name, weight) in &worker.queues {
            list.put(&format!("worker.queues.{name}"), weight);
        }
        list.put("worker.strict", &worker.strict);
    }

    fn put_retry(&self, list: &mut List<'_>) {
        // As it is stored with a job: whole milliseconds, and numbers.
        let retry = serde_json::to_value(self.retry).unwrap_or_default();
        for key in [
            "max_attempts",
            "initial_delay",
            "multiplier",
            "max_delay",
            "jitter",
        ] {
            let name = format!("retry.{key}");
            match (&retry[key], key) {
                (Value::Number(millis), "initial_delay" | "max_delay") => {
                    let millis = Duration::from_millis(millis.as_u64().unwrap_or_default());
                    list.put(&name, &written(millis));
                }
                (value, _) => list.put(&name, value),
            }
        }
    }
}

struct List<'a> {
    sources: &'a Sources,
    settings: Vec<Setting>,
}

impl List<'_> {
    fn put(&mut self, key: &str, value: &dyn fmt::Display) {
        self.settings.push(Setting {
            key: key.into(),
            value: value.to_string(),
            source: self.sources.0.get(key).cloned(),
        });
    }
}

fn mode(config: &Config) -> String {
    let mode = serde_json::to_value(config.dead_letter.mode).unwrap_or_default();
    mode.as_str().unwrap_or_default().into()
}

fn written(duration: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(duration)
}

/// Calls `visit` with the key and the value of everything in `value` that is no table.
fn leaves(key: &str, value: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    let Value::Object(entries) = value else {
        return visit(key, value);
    };
    for (name, value) in entries {
        let key = if key.is_empty() {
            name.clone()
        } else {
            format!("{key}.{name}")
        };
        leaves(&key, value, visit);
    }
}
