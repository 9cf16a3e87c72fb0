//! The result of the whole job, for people.

use std::{
    io::{self, Write},
    time::Duration,
};

use goqueue::{JobMetrics, JobOutcome, driver::DeadLetterInfo};

use super::{
    board::Entry,
    table::{
        Align::{Left, Right},
        Paint, Tone, cut, line,
    },
    text::{TextStats, WORDS_A_MINUTE},
};

const WIDTH: usize = 80;
/// The columns of numbers and of the status, with the gaps before them.
const OTHERS: usize = 7 + 7 + 2 + 10 + 9;

/// What is to be told.
#[derive(Debug)]
pub(crate) struct Summary {
    /// Every file, by name.
    pub(crate) entries: Vec<Entry>,
    /// What the backend keeps of the jobs that died, with the names of their files.
    pub(crate) dead: Vec<(String, DeadLetterInfo)>,
    /// How long everything took.
    pub(crate) took: Duration,
    /// How many jobs ran at once.
    pub(crate) at_once: usize,
}

impl Summary {
    /// Prints it.
    ///
    /// # Errors
    /// When the output is gone.
    pub(crate) fn print(&self, to: &mut impl Write, paint: Paint) -> io::Result<()> {
        self.print_table(to, paint)?;
        self.print_figures(to)?;
        self.print_retries(to, paint)?;
        self.print_dead_letters(to, paint)
    }

    fn print_table(&self, to: &mut impl Write, paint: Paint) -> io::Result<()> {
        let longest = self.entries.iter().map(|entry| entry.name.chars().count());
        let file = longest.max().unwrap_or_default().clamp(12, 24);
        let frequent = WIDTH - file - OTHERS;
        let columns = [
            (file, Left),
            (5, Right),
            (5, Right),
            (frequent, Left),
            (8, Right),
            (7, Left),
        ];
        let rule = paint.text(Tone::Faint, &"─".repeat(WIDTH));

        let titles = "FILE LINES WORDS FREQUENT ATTEMPTS STATUS".split(' ');
        writeln!(to, "{}", line(paint, &columns, titles.map(bold)))?;
        writeln!(to, "{rule}")?;
        for entry in &self.entries {
            let cells = cells(entry, frequent);
            writeln!(to, "{}", line(paint, &columns, cells))?;
        }
        writeln!(to, "{rule}")?;
        let total = self.total();
        let attempts: usize = self.entries.iter().map(|entry| entry.runs.len()).sum();
        let cells = [
            files(self.entries.len()),
            total.lines.to_string(),
            total.words.to_string(),
            frequent_words(&total, frequent),
            attempts.to_string(),
            format!("{} done", self.count("done")),
        ];
        writeln!(to, "{}", line(paint, &columns, cells.map(bold)))
    }

    fn print_figures(&self, to: &mut impl Write) -> io::Result<()> {
        let total = self.total();
        let minutes = total.reading_time().as_secs().div_ceil(60);
        let longest = &total.longest;
        let from = self.entries.iter().find(|entry| {
            let stats = entry.stats.as_ref();
            stats.is_some_and(|stats| stats.longest == *longest)
        });
        writeln!(to)?;
        writeln!(
            to,
            "{} sentences, about {minutes} min to read at {WORDS_A_MINUTE} words a minute",
            total.sentences
        )?;
        if let Some(entry) = from {
            writeln!(to, "longest word: {longest} ({})", entry.name)?;
        }
        let counted =
            ["done", "skipped", "dead", "waiting"].map(|status| (status, self.count(status)));
        let counted: Vec<_> = counted
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(status, count)| format!("{count} {status}"))
            .collect();
        writeln!(
            to,
            "{} in {:.1} s, {} jobs at a time",
            counted.join(", "),
            self.took.as_secs_f64(),
            self.at_once
        )
    }

    fn print_retries(&self, to: &mut impl Write, paint: Paint) -> io::Result<()> {
        let retried = self
            .entries
            .iter()
            .map(|entry| (entry, retries(&entry.runs)));
        let retried: Vec<_> = retried.filter(|(_, retries)| !retries.is_empty()).collect();
        if retried.is_empty() {
            return Ok(());
        }
        let columns = [(24, Left), (26, Left), (26, Left)];
        let titles = ["RETRIED", "AFTER, PLANNED", "AFTER, MEASURED"];
        writeln!(to)?;
        writeln!(to, "{}", line(paint, &columns, titles.map(bold)))?;
        for (entry, retries) in retried {
            let list = |time: fn(&Retry) -> Duration| {
                let times = retries.iter().map(|retry| format!("{:?}", time(retry)));
                times.collect::<Vec<_>>().join(", ")
            };
            let cells = [
                entry.name.clone(),
                list(|retry| retry.planned),
                list(|retry| retry.measured),
            ];
            writeln!(to, "{}", line(paint, &columns, cells.map(plain)))?;
        }
        let why = "a retry is never early; it is later while other jobs fill the worker";
        writeln!(to, "{}", paint.text(Tone::Faint, why))
    }

    fn print_dead_letters(&self, to: &mut impl Write, paint: Paint) -> io::Result<()> {
        if self.dead.is_empty() {
            return Ok(());
        }
        writeln!(to)?;
        writeln!(to, "{}", paint.text(Tone::Bold, "DEAD LETTERS"))?;
        for (name, letter) in &self.dead {
            let reason = paint.text(Tone::Bad, &letter.reason.to_string());
            writeln!(
                to,
                "{:<24}  {reason} at attempt {}: {}",
                cut(name, 24),
                letter.attempts,
                letter.error
            )?;
        }
        Ok(())
    }

    fn total(&self) -> TextStats {
        let mut total = TextStats::default();
        for stats in self.entries.iter().filter_map(|entry| entry.stats.as_ref()) {
            total.add(stats);
        }
        total
    }

    fn count(&self, wanted: &str) -> usize {
        let statuses = self.entries.iter().map(|entry| status(entry).1);
        statuses.filter(|status| *status == wanted).count()
    }
}

/// "1 file", "2 files".
pub(crate) fn files(count: usize) -> String {
    format!("{count} file{}", if count == 1 { "" } else { "s" })
}

fn plain(text: impl Into<String>) -> (Tone, String) {
    (Tone::Plain, text.into())
}

fn bold(text: impl Into<String>) -> (Tone, String) {
    (Tone::Bold, text.into())
}

fn cells(entry: &Entry, frequent: usize) -> [(Tone, String); 6] {
    let nothing = TextStats::default();
    let stats = entry.stats.as_ref().unwrap_or(&nothing);
    let attempts = entry.runs.last().map_or(0, |run| run.attempt);
    let tone = if attempts > 1 {
        Tone::Warning
    } else {
        Tone::Plain
    };
    let (status_tone, status) = status(entry);
    [
        plain(entry.name.clone()),
        plain(stats.lines.to_string()),
        plain(stats.words.to_string()),
        (Tone::Faint, frequent_words(stats, frequent)),
        (tone, attempts.to_string()),
        (status_tone, status.into()),
    ]
}

fn status(entry: &Entry) -> (Tone, &'static str) {
    match entry.outcome() {
        Some(JobOutcome::Succeeded) => (Tone::Good, "done"),
        Some(JobOutcome::Discarded) => (Tone::Warning, "skipped"),
        Some(JobOutcome::Dead(_)) => (Tone::Bad, "dead"),
        _ => (Tone::Faint, "waiting"),
    }
}

/// As many of them as fit.
fn frequent_words(stats: &TextStats, width: usize) -> String {
    let mut text = String::new();
    let repeated = stats.frequent().into_iter().filter(|(_, count)| *count > 1);
    for (word, count) in repeated.take(3) {
        let gap = if text.is_empty() { "" } else { ", " };
        let more = format!("{gap}{word} {count}");
        if text.chars().count() + more.chars().count() > width {
            break;
        }
        text.push_str(&more);
    }
    text
}

/// How long after a failure the next attempt began.
#[derive(Debug)]
struct Retry {
    planned: Duration,
    measured: Duration,
}

fn retries(runs: &[JobMetrics]) -> Vec<Retry> {
    let pairs = runs.iter().zip(runs.iter().skip(1));
    pairs
        .filter_map(|(failed, next)| match failed.outcome {
            JobOutcome::Retried(planned) => {
                // Both waits count from the enqueueing.
                let measured = next.wait.saturating_sub(failed.wait + failed.duration);
                let millis = measured.as_millis().try_into().unwrap_or(u64::MAX);
                Some(Retry {
                    planned,
                    measured: Duration::from_millis(millis),
                })
            }
            _ => None,
        })
        .collect()
}
