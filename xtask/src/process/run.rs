use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::process::Command;
use tokio::time::timeout;

use super::{Group, Interrupts};

const GRACE: Duration = Duration::from_secs(5);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status.
    Exited(ExitStatus),
    /// Because we were asked to end.
    Interrupted(Signal),
}

impl End {
    /// True for an exit with code 0.
    #[must_use]
    pub fn is_success(self) -> bool {
        matches!(self, Self::Exited(status) if status.success())
    }

    /// The exit code to pass on, with a shell's 128 + n for signal n.
    #[must_use]
    pub fn code(self) -> u8 {
        let code = match self {
            Self::Exited(status) => status
                .code()
                .or_else(|| status.signal().map(|signal| 128 + signal)),
            Self::Interrupted(signal) => Some(128 + signal as i32),
        };
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(status) => status.fmt(f),
            Self::Interrupted(signal) => write!(f, "interrupted by {signal}"),
        }
    }
}

/// Runs `command` to its end. An interrupt is passed on to it and to everything it started; what
/// has not ended five seconds later, or at a second interrupt, is killed.
///
/// # Errors
///
/// When the command cannot be started or waited for.
pub async fn run(command: Command, interrupts: &mut Interrupts) -> io::Result<End> {
    let mut group = Group::spawn(command)?;
    let end = tokio::select! {
        status = group.wait() => End::Exited(status?),
        signal = interrupts.next() => End::Interrupted(signal),
    };
    if let End::Interrupted(signal) = end {
        group.signal(signal);
        tokio::select! {
            _ = timeout(GRACE, group.wait()) => {}
            _ = interrupts.next() => {}
        }
    }
    group.stop(Duration::ZERO).await?;
    Ok(end)
}
