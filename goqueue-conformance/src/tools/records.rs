use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use goqueue_core::{JobContext, JobId};
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};

use crate::check::promise;

/// What the handlers of a case did, across all its workers. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    runs: Mutex<Vec<Run>>,
    changed: Notify,
}

/// One run of one job.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) tag: String,
    pub(crate) id: JobId,
    pub(crate) attempt: u32,
    pub(crate) queue: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) started: Instant,
    pub(crate) end: Option<End>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) at: Instant,
    /// Its future was dropped, or it panicked.
    pub(crate) is_dropped: bool,
    /// It had been told to stop.
    pub(crate) was_cancelled: bool,
}

impl Records {
    pub(super) fn start(&self, tag: &str, cx: &JobContext) -> Running {
        let mut runs = self.lock();
        let nth = runs.iter().filter(|run| run.id == cx.id()).count();
        let place = runs.len();
        runs.push(Run {
            tag: tag.into(),
            id: cx.id(),
            attempt: cx.attempt(),
            queue: cx.queue().into(),
            headers: cx.headers().clone(),
            started: Instant::now(),
            end: None,
        });
        drop(runs);
        self.0.changed.notify_waiters();
        Running {
            records: self.clone(),
            place,
            nth,
            is_over: false,
        }
    }

    /// Every run so far, in the order they started.
    pub(crate) fn runs(&self) -> Vec<Run> {
        self.lock().clone()
    }

    /// The runs of one job.
    pub(crate) fn of(&self, tag: &str) -> Vec<Run> {
        self.lock()
            .iter()
            .filter(|run| run.tag == tag)
            .cloned()
            .collect()
    }

    /// The tags of all runs, in the order they started.
    pub(crate) fn tags(&self) -> Vec<String> {
        self.lock().iter().map(|run| run.tag.clone()).collect()
    }

    /// The attempts of one job's runs.
    pub(crate) fn attempts(&self, tag: &str) -> Vec<u32> {
        self.of(tag).iter().map(|run| run.attempt).collect()
    }

    /// Waits until the runs are as they should be.
    pub(crate) async fn until(&self, what: &str, within: Duration, hold: impl Fn(&[Run]) -> bool) {
        let reached = async {
            loop {
                let changed = self.0.changed.notified();
                if hold(&self.lock()) {
                    return;
                }
                changed.await;
            }
        };
        let is_reached = timeout(within, reached).await.is_ok();
        promise!(is_reached, "within {within:?}, {what}"; "the runs were:{}", self.told());
    }

    /// Waits until this many runs have ended by themselves.
    pub(crate) async fn ended(&self, count: usize, within: Duration) {
        let is_ended = |run: &&Run| run.end.is_some_and(|end| !end.is_dropped);
        let what = format!("{count} runs have come to their end");
        self.until(&what, within, |runs| {
            runs.iter().filter(is_ended).count() >= count
        })
        .await;
    }

    /// Waits until a job's run has started for the `nth` time.
    pub(crate) async fn started(&self, tag: &str, nth: usize, within: Duration) {
        let what = format!("run {nth} of `{tag}` has started");
        let is_it = |run: &&Run| run.tag == tag;
        self.until(&what, within, |runs| {
            runs.iter().filter(is_it).count() >= nth
        })
        .await;
    }

    /// The runs as a failing case shows them.
    pub(crate) fn told(&self) -> String {
        let runs = self.lock();
        let first = runs.first().map(|run| run.started);
        let told = runs.iter().take(40).map(|run| {
            let at = |time: Instant| time - first.unwrap_or(time);
            let end = match run.end {
                None => "still running".into(),
                Some(end) => format!(
                    "{} at {:?}{}",
                    if end.is_dropped { "dropped" } else { "ended" },
                    at(end.at),
                    if end.was_cancelled { ", cancelled" } else { "" }
                ),
            };
            let (tag, attempt) = (&run.tag, run.attempt);
            format!(
                "\n  `{tag}` attempt {attempt}, started at {:?}, {end}",
                at(run.started)
            )
        });
        let more = runs.len().saturating_sub(40);
        let more = if more > 0 {
            format!("\n  … and {more} more")
        } else {
            String::new()
        };
        if runs.is_empty() {
            " none".into()
        } else {
            told.collect::<String>() + &more
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Run>> {
        self.0.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run under way. Dropping it notes that it was cut off.
#[derive(Debug)]
pub(super) struct Running {
    records: Records,
    place: usize,
    nth: usize,
    is_over: bool,
}

impl Running {
    /// How many runs of the same job there were before.
    pub(super) fn nth(&self) -> usize {
        self.nth
    }

    pub(super) fn end(mut self, was_cancelled: bool) {
        self.finish(End {
            at: Instant::now(),
            is_dropped: false,
            was_cancelled,
        });
    }

    fn finish(&mut self, end: End) {
        if !std::mem::replace(&mut self.is_over, true) {
            self.records.lock()[self.place].end = Some(end);
            self.records.0.changed.notify_waiters();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.finish(End {
            at: Instant::now(),
            is_dropped: true,
            was_cancelled: false,
        });
    }
}
