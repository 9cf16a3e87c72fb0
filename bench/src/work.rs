//! The jobs that are measured.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use goqueue::prelude::*;
use serde::{Deserialize, Serialize};
use tokio::{sync::mpsc, time::Instant};

/// What JSON adds to the text: `{"text":""}`.
const AROUND: usize = 11;
/// How often somebody who waits for a number of runs looks.
const LOOK: Duration = Duration::from_micros(500);

/// How many jobs have run in this process.
static RAN: AtomicUsize = AtomicUsize::new(0);

/// Does nothing.
#[derive(Debug, Serialize, Deserialize, Job)]
#[job(name = "bench.noop")]
pub(crate) struct Noop {
    text: String,
}

impl Noop {
    /// A job whose payload is this many bytes of JSON.
    pub(crate) fn of(bytes: usize) -> Self {
        Self {
            text: "x".repeat(bytes.saturating_sub(AROUND)),
        }
    }
}

impl Handler for Noop {
    async fn handle(self, _cx: JobContext) -> JobResult {
        RAN.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// How many no-op jobs have run in this process.
pub(crate) fn ran() -> usize {
    RAN.load(Ordering::Relaxed)
}

/// Waits until this many more than `before` have run.
pub(crate) async fn have_run(before: usize, jobs: usize) {
    while ran() - before < jobs {
        tokio::time::sleep(LOOK).await;
    }
}

/// Fails once, then succeeds.
#[derive(Debug, Serialize, Deserialize, Job)]
#[job(name = "bench.fail_once")]
pub(crate) struct FailOnce {
    text: String,
}

impl FailOnce {
    pub(crate) fn of(bytes: usize) -> Self {
        let Noop { text } = Noop::of(bytes);
        Self { text }
    }
}

impl Handler for FailOnce {
    async fn handle(self, cx: JobContext) -> JobResult {
        if cx.attempt() == 1 {
            return Err("the first attempt fails".into());
        }
        Ok(())
    }
}

/// Where the handler of [`Timed`] says when it ran.
pub(crate) type Told = mpsc::UnboundedSender<Instant>;

/// Tells when it runs.
#[derive(Debug, Serialize, Deserialize, Job)]
#[job(name = "bench.timed")]
pub(crate) struct Timed {
    text: String,
}

impl Timed {
    pub(crate) fn of(bytes: usize) -> Self {
        let Noop { text } = Noop::of(bytes);
        Self { text }
    }
}

impl Handler for Timed {
    async fn handle(self, cx: JobContext) -> JobResult {
        let now = Instant::now();
        // Nobody listens any more to the last jobs of a measurement.
        let _ = cx.state::<Told>()?.send(now);
        Ok(())
    }
}
