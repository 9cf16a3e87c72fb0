//! What became of each file, as the worker reports it, and how far the whole job is.

use std::{
    collections::HashMap,
    io::{IsTerminal, Write, stderr},
    sync::{Mutex, MutexGuard, PoisonError},
};

use goqueue::{JobId, JobMetrics, JobOutcome};
use tokio::sync::Notify;

use super::{table::cut, text::TextStats};

const WIDTH: usize = 79;
const BAR: usize = 24;
/// Back to the start of the line, and nothing left on it.
const CLEAR: &str = "\r\x1b[K";

/// Everything that is known about the jobs of this run of the program.
#[derive(Debug)]
pub(crate) struct Board {
    entries: Mutex<HashMap<JobId, Entry>>,
    all_ended: Notify,
    live: bool,
}

/// One file.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Its name.
    pub(crate) name: String,
    /// The runs of its job so far, in order.
    pub(crate) runs: Vec<JobMetrics>,
    /// What its handler counted.
    pub(crate) stats: Option<TextStats>,
}

impl Entry {
    /// How the last run ended; nothing before the first.
    pub(crate) fn outcome(&self) -> Option<JobOutcome> {
        self.runs.last().map(|run| run.outcome)
    }

    /// Whether the job failed for good.
    pub(crate) fn is_dead(&self) -> bool {
        matches!(self.outcome(), Some(JobOutcome::Dead(_)))
    }

    /// Whether the job will not run again.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(
            self.outcome(),
            Some(JobOutcome::Succeeded | JobOutcome::Discarded | JobOutcome::Dead(_))
        )
    }
}

impl Board {
    /// A board of jobs and the names of their files.
    pub(crate) fn new(jobs: impl IntoIterator<Item = (JobId, String)>) -> Self {
        let entry = |name| Entry {
            name,
            runs: Vec::new(),
            stats: None,
        };
        let entries = jobs.into_iter().map(|(id, name)| (id, entry(name)));
        Self {
            entries: Mutex::new(entries.collect()),
            all_ended: Notify::new(),
            live: stderr().is_terminal(),
        }
    }

    /// Takes down what a handler counted.
    pub(crate) fn counted(&self, job: JobId, stats: TextStats) {
        if let Some(entry) = self.lock().get_mut(&job) {
            entry.stats = Some(stats);
        }
    }

    /// Takes down how a run ended, and shows it.
    pub(crate) fn ended(&self, run: &JobMetrics) {
        let mut entries = self.lock();
        // A backend that outlives the program may hold jobs of an earlier run.
        let Some(entry) = entries.get_mut(&run.id) else {
            return;
        };
        entry.runs.push(run.clone());
        let news = news(entry, run);
        let (ended, all) = (
            entries.values().filter(|entry| entry.has_ended()).count(),
            entries.len(),
        );
        drop(entries);
        self.show(ended, all, &news);
        if ended == all {
            self.all_ended.notify_one();
        }
    }

    /// Waits until no job will run again.
    pub(crate) async fn all_ended(&self) {
        self.all_ended.notified().await;
    }

    /// The entries as they stand, by name.
    pub(crate) fn entries(&self) -> Vec<(JobId, Entry)> {
        let entries = self.lock();
        let mut entries: Vec<_> = entries.iter().map(|(id, e)| (*id, e.clone())).collect();
        entries.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
        entries
    }

    /// Makes room for what is printed after the last progress.
    pub(crate) fn clear(&self) {
        if self.live {
            let _ = write!(stderr(), "{CLEAR}");
        }
    }

    /// Progress goes to standard error, so that the result can be piped on its own. On a terminal
    /// it is one line that changes, elsewhere a line per event.
    fn show(&self, ended: usize, all: usize, news: &str) {
        let mut to = stderr().lock();
        // Nobody is left to read it when this fails.
        let _ = if self.live {
            let full = ended * BAR / all;
            let bar = format!("{}{}", "#".repeat(full), "-".repeat(BAR - full));
            let news = cut(news, WIDTH - BAR - 13);
            write!(to, "{CLEAR}[{bar}] {ended:>3}/{all}  {news}")
        } else {
            writeln!(to, "{ended:>4}/{all}  {news}")
        };
        let _ = to.flush();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn news(entry: &Entry, run: &JobMetrics) -> String {
    let name = &entry.name;
    let error = run.error.as_deref().unwrap_or_default();
    match run.outcome {
        JobOutcome::Succeeded => {
            let words = entry.stats.as_ref().map_or(0, |stats| stats.words);
            format!("{name}: {words} words")
        }
        JobOutcome::Retried(delay) => format!("{name}: {error}; again in {delay:?}"),
        JobOutcome::Discarded => format!("{name}: skipped, {error}"),
        JobOutcome::Dead(_) => format!("{name}: dead, {error}"),
        other => format!("{name}: {other}"),
    }
}
