use std::fmt;

/// A setting that cannot be used: which, where it was set, what is wrong with it.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigError {
    pub(super) key: String,
    pub(super) origin: Option<String>,
    pub(super) problem: String,
}

impl ConfigError {
    /// A problem with `key`, in the words "got this, allowed is that". Never put a secret in it.
    pub fn new(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            origin: None,
            problem: problem.into(),
        }
    }

    /// The key, as in the file: `worker.lease`. Empty when the file as a whole cannot be read.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.key.as_str(), &self.origin) {
            ("", None) => write!(f, "config: {}", self.problem),
            ("", Some(origin)) => write!(f, "config {origin}: {}", self.problem),
            (key, None) => write!(f, "config key `{key}`: {}", self.problem),
            (key, Some(origin)) => write!(f, "config key `{key}` ({origin}): {}", self.problem),
        }
    }
}

/// The message, as in `Display`: a `main` that returns an error prints its `Debug`.
impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ConfigError {}
