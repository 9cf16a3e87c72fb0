use std::io;

use nix::sys::signal::Signal;
use tokio::signal::unix::{self, SignalKind};

/// The signals that ask this process to end: SIGINT (Ctrl-C), SIGTERM and SIGHUP.
#[derive(Debug)]
pub struct Interrupts {
    int: unix::Signal,
    term: unix::Signal,
    hup: unix::Signal,
}

impl Interrupts {
    /// From here on these signals no longer end the process by themselves.
    ///
    /// # Errors
    ///
    /// When a handler cannot be installed.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            int: unix::signal(SignalKind::interrupt())?,
            term: unix::signal(SignalKind::terminate())?,
            hup: unix::signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one. May be dropped while waiting without losing any.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.int.recv() => Signal::SIGINT,
            _ = self.term.recv() => Signal::SIGTERM,
            _ = self.hup.recv() => Signal::SIGHUP,
        }
    }
}
