use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// Why a service is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No service of that name.
    #[error("no service is called `{given}`; there are: {}", allowed.join(", "))]
    Unknown {
        /// The name that was asked for.
        given: String,
        /// The names there are.
        allowed: Vec<String>,
    },
    /// The program is not installed.
    #[error("`{service}` needs the program `{program}`, which is not installed; {hint}")]
    Missing {
        /// The service.
        service: String,
        /// The program looked for.
        program: String,
        /// How to get it.
        hint: String,
    },
    /// The program could not be installed.
    #[error("`{service}` needs the package `{package}`; `{command}` failed: {reason}")]
    Install {
        /// The service.
        service: String,
        /// The package.
        package: String,
        /// The command that failed.
        command: String,
        /// How it failed.
        reason: String,
    },
    /// Debian unstable does not have it today.
    #[error(
        "`{service}` comes from Debian unstable, and {reason}; set {variable} to the URL of a running one"
    )]
    Unavailable {
        /// The service.
        service: String,
        /// Why it could not be had.
        reason: String,
        /// The variable that may name another.
        variable: String,
    },
    /// What comes before the server failed.
    #[error("`{service}`: `{program}` failed ({status}); its log, {}, ends with:\n{tail}", log.display())]
    Setup {
        /// The service.
        service: String,
        /// The program that failed.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// Its whole log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// The program ended instead of serving.
    #[error("`{service}` ended before it was ready ({status}); its log, {}, ends with:\n{tail}", log.display())]
    Ended {
        /// The service.
        service: String,
        /// How the program ended.
        status: ExitStatus,
        /// Its whole log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// The program runs, but its probe is not answered.
    #[error("`{service}` was not ready after {after:?} ({reason}); its log, {}, ends with:\n{tail}", log.display())]
    NotReady {
        /// The service.
        service: String,
        /// How long it was given.
        after: Duration,
        /// What the last probe said.
        reason: String,
        /// Its whole log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// The operating system refused something.
    #[error("`{service}`: {what}: {source}")]
    Io {
        /// The service.
        service: String,
        /// What was being done.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}
