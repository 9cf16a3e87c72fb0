//! Long operations: how far they are, and stopping between two steps.

use std::{
    io::{IsTerminal, Write, stderr},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::output::human::count;

/// The line changes this often on a terminal, and is repeated this often elsewhere.
const REDRAW: Duration = Duration::from_millis(100);
const REPEAT: Duration = Duration::from_secs(5);

/// How far something is, on the standard error: one line that changes on a terminal, elsewhere a
/// line every few seconds, and nothing at all for what is done sooner.
pub(crate) struct Progress {
    doing: &'static str,
    is_terminal: bool,
    is_drawn: bool,
    next: Instant,
}

impl Progress {
    /// `doing` says what: "retrying".
    pub(crate) fn new(doing: &'static str) -> Self {
        let is_terminal = stderr().is_terminal();
        let first = if is_terminal { REDRAW } else { REPEAT };
        Self {
            doing,
            is_terminal,
            is_drawn: false,
            next: Instant::now() + first,
        }
    }

    /// So many are done, of so many as far as is known.
    pub(crate) fn at(&mut self, done: u64, all: Option<u64>) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        let of = all.map_or_else(String::new, |all| format!(" of {}", count(all.max(done))));
        let line = format!("{}: {}{of}", self.doing, count(done));
        // A line that cannot be written is missed by nobody.
        let _ = if self.is_terminal {
            self.is_drawn = true;
            self.next = now + REDRAW;
            write!(stderr(), "\r\x1b[K{line}")
        } else {
            self.next = now + REPEAT;
            writeln!(stderr(), "{line}")
        };
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
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    pub(crate) fn listen() -> Self {
        let interrupt = Self(Arc::default());
        let told = interrupt.clone();
        tokio::spawn(async move {
            goqueue::shutdown_signal().await;
            told.0.store(true, Ordering::Relaxed);
            goqueue::shutdown_signal().await;
            std::process::exit(1);
        });
        interrupt
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
