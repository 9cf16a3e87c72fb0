//! Long operations: how far they are, and stopping between two steps.

use std::{
    io::{IsTerminal, Write, stderr},
    pin::pin,
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior, interval},
};

use crate::output::human::count;

/// The line changes this often.
const REDRAW: Duration = Duration::from_millis(100);

/// How far something is, on the standard error: one line that changes and is gone in the end. Nothing
/// for what is done at once, and nothing where no terminal shows it: there it would be noise in a log.
pub(crate) struct Progress {
    doing: &'static str,
    is_terminal: bool,
    is_drawn: bool,
    next: Instant,
}

impl Progress {
    /// `doing` says what: "retrying".
    pub(crate) fn new(doing: &'static str) -> Self {
        Self {
            doing,
            is_terminal: stderr().is_terminal(),
            is_drawn: false,
            next: Instant::now() + REDRAW,
        }
    }

    /// So many are done, of so many as far as is known.
    pub(crate) fn at(&mut self, done: u64, all: Option<u64>) {
        let now = Instant::now();
        if !self.is_terminal || now < self.next {
            return;
        }
        let of = all.map_or_else(String::new, |all| format!(" of {}", count(all.max(done))));
        let line = format!("{}: {}{of}", self.doing, count(done));
        self.is_drawn = true;
        self.next = now + REDRAW;
        // A line that cannot be written is missed by nobody.
        let _ = write!(stderr(), "\r\x1b[K{line}");
        let _ = stderr().flush();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_drawn {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

/// Waits for work that the backend does in steps of its own. `left` tells how much there still is of
/// `before`.
pub(crate) async fn follow<T>(
    doing: &'static str,
    before: Option<u64>,
    work: impl Future<Output = T>,
    left: impl AsyncFn() -> Option<u64>,
) -> T {
    let mut progress = Progress::new(doing);
    let mut ticks = interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut work = pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            _ = ticks.tick() => if let (Some(before), Some(left)) = (before, left().await) {
                progress.at(before.saturating_sub(left), Some(before));
            },
        }
    }
}

/// Whether Ctrl-C (or SIGTERM) was pressed since. The first ends a long operation between two steps,
/// the second the process.
#[derive(Clone)]
pub(crate) struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    pub(crate) fn listen() -> Self {
        let (told, interrupt) = watch::channel(false);
        tokio::spawn(async move {
            goqueue::shutdown_signal().await;
            told.send_replace(true);
            goqueue::shutdown_signal().await;
            std::process::exit(1);
        });
        Self(interrupt)
    }

    pub(crate) fn is_on(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is on.
    pub(crate) async fn pressed(&self) {
        let mut interrupt = self.0.clone();
        if interrupt.wait_for(|is_on| *is_on).await.is_err() {
            // Nobody listens any more, so nobody will press.
            std::future::pending::<()>().await;
        }
    }
}
