//! What everybody saw, written down outside of the backend.
//!
//! Each process appends to a file of its own, a line per event, so that nothing has to be shared or
//! flushed: a line that was written outlives the process. Only the one after it can be missing.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::task::Ending;

/// One event, by the clock that all processes of the machine share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Microseconds since the machine started.
    pub at: u64,
    /// The process that saw it.
    pub who: String,
    /// What it saw.
    #[serde(flatten)]
    pub event: Event,
}

/// What can be seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A producer is about to enqueue a job.
    Intent(Intent),
    /// It got an answer.
    Answer {
        /// The job's label.
        label: String,
        /// The answer.
        answer: Answer,
    },
    /// A handler was called.
    Start {
        /// The job's label.
        label: String,
        /// The job's id.
        id: String,
        /// Which delivery it is.
        attempt: u32,
    },
    /// A handler is about to answer.
    End {
        /// The job's label.
        label: String,
        /// Which delivery it is.
        attempt: u32,
        /// Whether the answer is success.
        succeeded: bool,
    },
    /// A worker learnt that the backend took down, or refused, the end of a run.
    Settled {
        /// The job's id.
        id: String,
        /// Which delivery it was.
        attempt: u32,
        /// The label of the outcome.
        outcome: String,
    },
    /// A worker's process was not held up, and the backend answered it.
    Beat,
    /// Something is broken from now on.
    Broken {
        /// The process, line or server.
        target: String,
        /// How.
        fault: String,
    },
    /// It is whole again.
    Mended {
        /// The process, line or server.
        target: String,
    },
    /// A dead letter that was found in the end.
    Dead(Letter),
    /// What a queue held in the end.
    Left {
        /// The queue.
        queue: String,
        /// Jobs that are ready, scheduled or running.
        live: u64,
    },
}

/// A job that is about to be enqueued, and how it will behave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// Tells it from every other job of the run.
    pub label: String,
    /// Where it goes.
    pub queue: String,
    /// The JSON text that is its payload.
    pub payload: String,
    /// Headers beside it.
    pub headers: BTreeMap<String, String>,
    /// How often it may run.
    pub max_attempts: u32,
    /// How its handler answers.
    pub ending: Ending,
    /// Its ordering key.
    pub order: Option<String>,
    /// Its unique key.
    pub unique: Option<String>,
}

/// What enqueueing answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It is stored under this id.
    Stored(String),
    /// The job of this id has its unique key.
    Duplicate(String),
    /// It may be stored or not.
    Failed(String),
}

/// A dead letter as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// The job's id.
    pub id: String,
    /// The queue that lists it.
    pub queue: String,
    /// Why it died.
    pub reason: String,
    /// The last error.
    pub error: String,
    /// Deliveries in all.
    pub attempts: u32,
    /// The stored bytes, as text.
    pub body: String,
}

/// The file that one process appends to.
#[derive(Clone, Debug)]
pub struct Ledger {
    who: String,
    file: Arc<Mutex<File>>,
}

impl Ledger {
    /// The ledger of `who` in a folder, begun or gone on with.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(folder: &Path, who: &str) -> io::Result<Self> {
        let path = folder.join(format!("{who}.ledger"));
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self {
            who: who.into(),
            file: Arc::new(Mutex::new(file)),
        })
    }

    /// Appends an event that happened just now.
    ///
    /// # Panics
    /// When it cannot: a run without its ledger proves nothing.
    pub fn note(&self, event: Event) {
        let who = self.who.clone();
        let line = Line {
            at: now(),
            who,
            event,
        };
        let mut text = serde_json::to_string(&line).expect("a line encodes");
        text.push('\n');
        // One call for the whole line: it is there or it is not.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(text.as_bytes())
            .expect("the ledger can be written");
    }
}

/// Microseconds since the machine started.
///
/// # Panics
/// When the system has no such clock.
#[must_use]
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("the clock can be read");
    Duration::from(time)
        .as_micros()
        .try_into()
        .unwrap_or(u64::MAX)
}

/// All lines of all ledgers in a folder, by time.
///
/// # Errors
/// When a file cannot be read, or has a line that is none.
pub fn read(folder: &Path) -> io::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|name| name != "ledger") {
            continue;
        }
        let text = fs::read_to_string(&path)?;
        for line in text.lines() {
            let line = serde_json::from_str(line).map_err(|error| {
                io::Error::other(format!("{}: {error}: `{line}`", path.display()))
            })?;
            lines.push(line);
        }
    }
    lines.sort_by_key(|line: &Line| line.at);
    Ok(lines)
}
