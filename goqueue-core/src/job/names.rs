//! Names and keys that every backend can carry.
//!
//! The rules are the strictest that any supported backend has, so that a name which works on one
//! driver works on all.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Longest queue name in bytes; leaves room for a prefix and a suffix in SQS's 80.
pub const MAX_QUEUE_NAME: usize = 64;
/// Longest job name in bytes.
pub const MAX_JOB_NAME: usize = 128;
/// Longest ordering or unique key in bytes.
pub const MAX_KEY: usize = 256;
/// Longest header name in bytes.
pub const MAX_HEADER_NAME: usize = 128;

/// The queue that jobs go to when nothing else is said.
pub const DEFAULT_QUEUE: &str = "default";

/// A checked queue name: 1 to 64 ASCII letters, digits, `_`, `-` or `.`.
///
/// Cheap to clone.
///
/// ```
/// # use goqueue_core::QueueName;
/// assert!(QueueName::new("mail").is_ok());
/// assert_eq!(
///     QueueName::new("mail queue").unwrap_err().to_string(),
///     "invalid queue name `mail queue`: 1 to 64 ASCII letters, digits, `_`, `-` or `.`",
/// );
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct QueueName(Arc<str>);

impl QueueName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the name is empty, too long or has another character.
    pub fn new(name: impl AsRef<str>) -> Result<Self> {
        let name = name.as_ref();
        if is_name(name, MAX_QUEUE_NAME, b"_-.") {
            Ok(Self(name.into()))
        } else {
            Err(Error::Invalid {
                what: "queue name",
                given: name.into(),
                allowed: "1 to 64 ASCII letters, digits, `_`, `-` or `.`",
            })
        }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl AsRef<str> for QueueName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for QueueName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for QueueName {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        Self::new(name)
    }
}

impl From<QueueName> for String {
    fn from(name: QueueName) -> Self {
        name.as_str().to_owned()
    }
}

/// Refuses a job name that is not 1 to 128 ASCII letters, digits, `_`, `-`, `.`, `:` or `/`.
pub(crate) fn check_job_name(name: &str) -> Result<()> {
    if is_name(name, MAX_JOB_NAME, b"_-.:/") {
        return Ok(());
    }
    Err(Error::Invalid {
        what: "job name",
        given: name.into(),
        allowed: "1 to 128 ASCII letters, digits, `_`, `-`, `.`, `:` or `/`",
    })
}

/// Refuses a key that is empty, longer than 256 bytes or has control characters.
pub(crate) fn check_key(what: &'static str, key: &str) -> Result<()> {
    if (1..=MAX_KEY).contains(&key.len()) && !key.chars().any(char::is_control) {
        return Ok(());
    }
    Err(Error::Invalid {
        what,
        given: key.into(),
        allowed: "1 to 256 bytes without control characters",
    })
}

/// Refuses a header name that is not 1 to 128 ASCII letters, digits, `_`, `-` or `.`.
pub(crate) fn check_header(name: &str) -> Result<()> {
    if is_name(name, MAX_HEADER_NAME, b"_-.") {
        return Ok(());
    }
    Err(Error::Invalid {
        what: "header name",
        given: name.into(),
        allowed: "1 to 128 ASCII letters, digits, `_`, `-` or `.`",
    })
}

pub(crate) fn is_name(name: &str, longest: usize, others: &[u8]) -> bool {
    (1..=longest).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || others.contains(&b))
}
