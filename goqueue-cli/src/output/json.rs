//! The JSON answers. `docs/src/json-output.md` describes every field, and a test compares the two:
//! a field is only ever added. Times are milliseconds since the Unix epoch, durations milliseconds.

use std::{collections::BTreeMap, time::Duration};

use goqueue::driver::{Finding, QueueStats};
use serde::Serialize;
use serde_json::value::RawValue;

#[derive(Serialize)]
pub(crate) struct Queues {
    pub(crate) queues: Vec<QueueLine>,
}

#[derive(Clone, Serialize)]
pub(crate) struct QueueLine {
    pub(crate) queue: String,
    pub(crate) ready: u64,
    pub(crate) scheduled: u64,
    pub(crate) running: u64,
    pub(crate) dead: u64,
    pub(crate) oldest_ready_ms: Option<u64>,
}

impl QueueLine {
    pub(crate) fn new(queue: impl Into<String>, stats: &QueueStats) -> Self {
        Self {
            queue: queue.into(),
            ready: stats.ready,
            scheduled: stats.scheduled,
            running: stats.running,
            dead: stats.dead,
            oldest_ready_ms: stats.oldest_ready.map(millis),
        }
    }
}

/// A line of `stats --watch --json`.
#[derive(Serialize)]
pub(crate) struct Look {
    pub(crate) at: u64,
    pub(crate) error: Option<String>,
    pub(crate) queues: Vec<WatchedQueue>,
}

#[derive(Serialize)]
pub(crate) struct WatchedQueue {
    #[serde(flatten)]
    pub(crate) line: QueueLine,
    pub(crate) ready_per_second: Option<f64>,
    pub(crate) dead_per_minute: Option<f64>,
}

/// What an envelope holds, where it can be read.
#[derive(Serialize)]
pub(crate) struct Content {
    pub(crate) name: Option<String>,
    pub(crate) enqueued_at: Option<u64>,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) ordering_key: Option<String>,
    pub(crate) unique_key: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) payload: Option<Box<RawValue>>,
    pub(crate) unreadable: Option<String>,
    pub(crate) body: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct Peek {
    pub(crate) queue: String,
    pub(crate) state: String,
    pub(crate) jobs: Vec<Job>,
    pub(crate) next: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) attempts: u32,
    pub(crate) due_in_ms: u64,
    pub(crate) last_error: Option<String>,
    #[serde(flatten)]
    pub(crate) content: Content,
}

#[derive(Serialize)]
pub(crate) struct DeadLetters {
    pub(crate) queue: String,
    pub(crate) dead_letters: Vec<DeadLetter>,
    pub(crate) next: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct DeadLetter {
    pub(crate) id: String,
    pub(crate) queue: String,
    pub(crate) reason: &'static str,
    pub(crate) error: String,
    pub(crate) attempts: u32,
    pub(crate) died_at: u64,
    #[serde(flatten)]
    pub(crate) content: Content,
}

#[derive(Serialize)]
pub(crate) struct Enqueued {
    pub(crate) id: String,
    pub(crate) queue: String,
    pub(crate) duplicate: bool,
}

/// What a steering command did.
#[derive(Serialize)]
pub(crate) struct Steered {
    pub(crate) queue: String,
    pub(crate) matched: u64,
    pub(crate) done: u64,
    pub(crate) dry_run: bool,
    pub(crate) interrupted: bool,
}

#[derive(Serialize)]
pub(crate) struct Purged {
    pub(crate) queue: String,
    pub(crate) done: u64,
}

#[derive(Serialize)]
pub(crate) struct Doctor<'a> {
    pub(crate) driver: String,
    pub(crate) findings: Vec<FindingLine<'a>>,
}

#[derive(Serialize)]
pub(crate) struct FindingLine<'a> {
    pub(crate) check: &'a str,
    pub(crate) status: &'static str,
    pub(crate) found: &'a str,
    pub(crate) fix: Option<&'a str>,
}

impl<'a> FindingLine<'a> {
    pub(crate) fn new(finding: &'a Finding) -> Self {
        Self {
            check: finding.check,
            status: finding.status.as_str(),
            found: &finding.found,
            fix: finding.fix.as_deref(),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct Settings {
    pub(crate) settings: Vec<SettingLine>,
}

#[derive(Serialize)]
pub(crate) struct SettingLine {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) source: Option<String>,
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
