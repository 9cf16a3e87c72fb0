//! Every error of Redis and of the line to it, told apart in one place.

use std::{fmt, time::Duration};

use goqueue_core::Error;
use redis::{ErrorKind, RedisError};

use crate::driver::NAME;

/// What was asked of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Connect,
    Ping,
    Push,
    Reserve,
    Extend,
    Settle,
    Maintain,
    Inspect,
    DeadLetter,
}

impl Operation {
    /// As a verb, for "failed to …".
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Ping => "ping",
            Self::Push => "push",
            Self::Reserve => "reserve",
            Self::Extend => "extend",
            Self::Settle => "settle",
            Self::Maintain => "maintain",
            Self::Inspect => "inspect",
            Self::DeadLetter => "store a dead letter",
        }
    }
}

/// What an error means for the call that met it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The script has to be sent with its text.
    UnknownScript,
    /// The server did not act, and this passes within moments: the call is worth repeating.
    Passing,
    /// The server did not act, and this takes a while to pass.
    Refused,
    /// The line broke or stayed silent. Whether the server acted is not known.
    Unknown,
    /// Nothing but a person can mend it.
    Permanent,
}

impl Meaning {
    pub(crate) fn is_transient(self) -> bool {
        self != Self::Permanent
    }

    /// Whether it is certain that nothing was done.
    pub(crate) fn is_undone(self) -> bool {
        self != Self::Unknown
    }
}

/// Codes with which the server refuses a command that it has not begun.
const PASSING: &[&str] = &[
    "LOADING",
    "READONLY",
    "MASTERDOWN",
    "CLUSTERDOWN",
    "MOVED",
    "ASK",
    "TRYAGAIN",
    "BUSY",
    "NOREPLICAS",
];

/// The same, of what passes more slowly or not by itself: memory has to be freed, a disk to be
/// written again.
const REFUSED: &[&str] = &["OOM", "MISCONF", "NOTREADY", "UNBLOCKED"];

/// Judges an error.
pub(crate) fn meaning(error: &RedisError) -> Meaning {
    if let Some(code) = code(error) {
        return match code {
            "NOSCRIPT" => Meaning::UnknownScript,
            code if PASSING.contains(&code) => Meaning::Passing,
            code if REFUSED.contains(&code) => Meaning::Refused,
            _ if is_too_many_clients(error) => Meaning::Refused,
            _ => Meaning::Permanent,
        };
    }
    match error.kind() {
        ErrorKind::ClusterConnectionNotFound => Meaning::Passing,
        ErrorKind::Io if error.is_connection_refusal() => Meaning::Passing,
        ErrorKind::Io | ErrorKind::Parse => Meaning::Unknown,
        ErrorKind::AuthenticationFailed if is_too_many_clients(error) => Meaning::Refused,
        _ => Meaning::Permanent,
    }
}

/// The code of the server's answer. Servers before version 7 wrap what a command in a script answers
/// in an error of the script.
fn code(error: &RedisError) -> Option<&str> {
    let outer = error.code()?;
    if outer != "ERR" {
        return Some(outer);
    }
    let detail = error.detail().unwrap_or_default();
    let is_inner = |code: &&&str| {
        [format!("-{code} "), format!(": {code} ")]
            .iter()
            .any(|text| detail.contains(text))
    };
    let inner = PASSING
        .iter()
        .chain(REFUSED)
        .chain(&["WRONGTYPE"])
        .find(is_inner);
    Some(inner.copied().unwrap_or(outer))
}

fn is_too_many_clients(error: &RedisError) -> bool {
    error
        .detail()
        .is_some_and(|detail| detail.contains("max number of clients"))
}

/// Whether the connection itself is what is wrong, in a way that it does not recover from alone: it
/// leads to a server that no longer takes writes, or it answers nothing.
pub(crate) fn needs_new_connection(error: &RedisError) -> bool {
    let asks_for_it = matches!(
        code(error),
        Some("READONLY" | "MASTERDOWN" | "NOAUTH" | "WRONGPASS" | "NOPERM")
    );
    asks_for_it
        || error.is_timeout()
        || is_too_many_clients(error)
        || error.kind() == ErrorKind::AuthenticationFailed
}

/// The error as callers of goqueue meet it.
pub(crate) fn to_error(operation: Operation, error: &RedisError, patience: Duration) -> Error {
    if error.is_timeout() {
        return Error::Timeout {
            driver: NAME,
            operation: operation.as_str(),
            after: patience,
        };
    }
    let meaning = meaning(error);
    Error::Backend {
        driver: NAME,
        operation: operation.as_str(),
        transient: meaning.is_transient(),
        source: Box::new(Failure {
            explained: explained(error),
            text: error.to_string(),
        }),
    }
}

/// An answer that is not what the script returns.
pub(crate) fn unexpected(operation: Operation) -> Error {
    let text = "the answer has not the form it should have".into();
    Error::Backend {
        driver: NAME,
        operation: operation.as_str(),
        transient: false,
        source: Box::new(Failure {
            explained: None,
            text,
        }),
    }
}

/// What to do about it, where the server's own words do not say.
fn explained(error: &RedisError) -> Option<&'static str> {
    Some(match code(error)? {
        "OOM" => "the server is out of memory and refuses what would need more",
        "READONLY" => "the server is a read-only replica",
        "LOADING" => "the server is still loading its data",
        "CLUSTERDOWN" => "a part of the cluster is down",
        "WRONGTYPE" => "a key of the queue holds something that goqueue did not store",
        _ => return None,
    })
}

/// A client error without its type.
#[derive(Debug)]
struct Failure {
    explained: Option<&'static str>,
    text: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.explained {
            Some(explained) => write!(f, "{explained} ({})", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use std::io;

    use redis::parse_redis_value;

    use super::*;

    fn answer(text: &str) -> RedisError {
        let value = parse_redis_value(format!("-{text}\r\n").as_bytes()).unwrap();
        value.extract_error().unwrap_err()
    }

    #[test]
    fn answers_of_the_server_are_told_apart() {
        let cases = [
            ("NOSCRIPT No matching script.", Meaning::UnknownScript),
            (
                "LOADING Redis is loading the dataset in memory",
                Meaning::Passing,
            ),
            (
                "READONLY You can't write against a read only replica.",
                Meaning::Passing,
            ),
            ("CLUSTERDOWN The cluster is down", Meaning::Passing),
            ("MOVED 3999 127.0.0.1:6381", Meaning::Passing),
            ("ASK 3999 127.0.0.1:6381", Meaning::Passing),
            (
                "TRYAGAIN Multiple keys request during rehashing of slot",
                Meaning::Passing,
            ),
            ("MASTERDOWN Link with MASTER is down", Meaning::Passing),
            ("BUSY Redis is busy running a script.", Meaning::Passing),
            (
                "OOM command not allowed when used memory > 'maxmemory'.",
                Meaning::Refused,
            ),
            (
                "MISCONF Errors writing to the AOF file: No space left on device",
                Meaning::Refused,
            ),
            ("ERR max number of clients reached", Meaning::Refused),
            (
                "ERR Error running script (call to f_1): @user_script:12: -OOM command not allowed",
                Meaning::Refused,
            ),
            (
                "ERR Error running script (call to f_1): @user_script:9: WRONGTYPE Operation",
                Meaning::Permanent,
            ),
            ("NOAUTH Authentication required.", Meaning::Permanent),
            (
                "WRONGPASS invalid username-password pair",
                Meaning::Permanent,
            ),
            (
                "NOPERM this user has no permissions to run the command",
                Meaning::Permanent,
            ),
            (
                "WRONGTYPE Operation against a key holding the wrong kind",
                Meaning::Permanent,
            ),
            ("ERR DB index is out of range", Meaning::Permanent),
        ];
        for (text, expected) in cases {
            assert_eq!(meaning(&answer(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_broken_line_leaves_it_open_whether_the_server_acted() {
        for kind in [io::ErrorKind::BrokenPipe, io::ErrorKind::TimedOut] {
            let error = RedisError::from(io::Error::from(kind));
            assert_eq!(meaning(&error), Meaning::Unknown);
            assert!(meaning(&error).is_transient() && !meaning(&error).is_undone());
        }
        let refused = RedisError::from(io::Error::from(io::ErrorKind::ConnectionRefused));
        assert_eq!(meaning(&refused), Meaning::Passing);
    }

    #[test]
    fn the_text_says_what_is_wrong() {
        let error = answer("OOM command not allowed when used memory > 'maxmemory'.");
        let error = to_error(Operation::Push, &error, Duration::ZERO);
        assert!(error.is_transient());
        let text = error.to_string();
        assert!(
            text.starts_with("driver `redis` failed to push: the server is out of memory"),
            "{text}"
        );
    }
}
