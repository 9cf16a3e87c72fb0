//! Why a command did not do what it was asked, and what its caller can do about it.

use std::{io, process::ExitCode};

use goqueue::Error;

pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// What the operation was, in the exit code: 1.
const FAILED: u8 = 1;
/// The command line cannot be carried out as it stands.
const USAGE: u8 = 2;

/// A message for people, an exit code for programs.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    help: Option<String>,
    is_unsupported: bool,
    is_transient: bool,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            code: FAILED,
            message: message.into(),
            help: None,
            is_unsupported: false,
            is_transient: false,
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            code: USAGE,
            ..Self::new(message)
        }
    }

    /// The answer has been given, and it is a bad one.
    pub(crate) fn said() -> Self {
        Self::new("")
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// What to use where the backend cannot do what was asked. Left out of every other failure.
    pub(crate) fn instead(self, help: &str) -> Self {
        if self.is_unsupported {
            self.help(help)
        } else {
            self
        }
    }

    /// Whether asking again is of no use.
    pub(crate) fn is_lasting(&self) -> bool {
        !self.is_transient
    }

    pub(crate) fn text(&self) -> &str {
        &self.message
    }

    /// Says it on the standard error, and answers the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        if !self.message.is_empty() {
            eprintln!("goqueue: {}", self.message);
        }
        if let Some(help) = &self.help {
            eprintln!("  help: {help}");
        }
        ExitCode::from(self.code)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let mut failure = Self::new(match &error {
            Error::Unsupported { driver, capability } => {
                format!("driver `{driver}` does not support {capability}")
            }
            error => error.to_string(),
        });
        failure.is_unsupported = matches!(error, Error::Unsupported { .. });
        failure.is_transient = error.is_transient();
        if failure.is_transient {
            failure = failure.help("it may pass by itself; `goqueue doctor` looks for the cause");
        }
        failure
    }
}

/// Standard output that cannot be written. A reader that has seen enough is no failure.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self {
                code: 0,
                ..Self::said()
            };
        }
        Self::new(format!("the output cannot be written: {error}"))
    }
}

/// Says what is wrong with the command line, or the help that was asked for.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let is_help = !error.use_stderr();
    // A URL pasted into the wrong place comes back in the message.
    let text = without_secrets(&text);
    if is_help {
        use io::Write;
        // Whoever closed the pipe has seen enough.
        let _ = io::stdout().write_all(text.as_bytes());
        return ExitCode::SUCCESS;
    }
    eprint!("{text}");
    ExitCode::from(USAGE)
}

/// Leaves out what stands between `://` and the last `@` of a word.
fn without_secrets(text: &str) -> String {
    let mask = |word: &str| match word.split_once("://") {
        Some((scheme, rest)) => match rest.rsplit_once('@') {
            Some((_, host)) => format!("{scheme}://***@{host}"),
            None => word.to_owned(),
        },
        None => word.to_owned(),
    };
    text.split_inclusive(char::is_whitespace)
        .map(mask)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_in_the_wrong_place_keeps_its_password_to_itself() {
        let text = "unexpected argument 'redis://u:p@ss@h/0' found\n\n  and mysql://h/db\n";
        let shown = "unexpected argument 'redis://***@h/0' found\n\n  and mysql://h/db\n";
        assert_eq!(without_secrets(text), shown);
    }

    #[test]
    fn advice_goes_only_with_what_the_backend_cannot_do() {
        let unsupported = Error::Unsupported {
            driver: "x",
            capability: "listing",
        };
        let failure = Failure::from(unsupported).instead("use that");
        assert_eq!(failure.help.as_deref(), Some("use that"));
        let failure = Failure::from(Error::EmptyRegistry).instead("use that");
        assert_eq!(failure.help, None);
    }
}
