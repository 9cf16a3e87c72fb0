//! What can be done to a backend with nothing but a configuration: check it, diagnose the backend,
//! bring its tables up to date. None of it needs a driver that connects, for a backend is looked at
//! most when it cannot be connected to.

use std::{fmt, future::Future, pin::Pin};

use crate::{
    config::Config,
    error::{Error, Result},
};

/// One thing that was looked at, and how it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What was looked at, in a few words: "eviction policy".
    pub check: &'static str,
    /// How it stands.
    pub status: FindingStatus,
    /// What was found. Free of secrets.
    pub found: String,
    /// How to mend it. `None` only when there is nothing to mend.
    pub fix: Option<String>,
}

/// How something that was looked at stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingStatus {
    /// As it should be.
    Good,
    /// The backend does not say, or does not let this user ask.
    Unknown,
    /// It works, and may one day lose jobs or time.
    Warning,
    /// Jobs are not safe, or nothing works.
    Problem,
}

impl FindingStatus {
    /// The name, as it is written down.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Unknown => "unknown",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

impl fmt::Display for FindingStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Finding {
    /// Something that is as it should be.
    pub fn good(check: &'static str, found: impl Into<String>) -> Self {
        Self {
            check,
            status: FindingStatus::Good,
            found: found.into(),
            fix: None,
        }
    }

    /// Something that the backend does not tell, and how to make it.
    pub fn unknown(check: &'static str, why: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::bad(check, FindingStatus::Unknown, why.into(), fix.into())
    }

    /// Something that works for now.
    pub fn warning(check: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::bad(check, FindingStatus::Warning, found.into(), fix.into())
    }

    /// Something that has to be mended.
    pub fn problem(check: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::bad(check, FindingStatus::Problem, found.into(), fix.into())
    }

    fn bad(check: &'static str, status: FindingStatus, found: String, fix: String) -> Self {
        Self {
            check,
            status,
            found,
            fix: Some(fix),
        }
    }
}

/// What bringing a backend's tables up to date did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaChange {
    /// The version before; 0 is none.
    pub from: u32,
    /// The version now.
    pub to: u32,
}

/// What a driver's diagnosis returns.
pub type DiagnoseFuture = Pin<Box<dyn Future<Output = Vec<Finding>> + Send>>;
/// What a driver's migration returns.
pub type MigrateFuture = Pin<Box<dyn Future<Output = Result<SchemaChange>> + Send>>;

/// Checks what belongs to the driver alone, its URL and its table, without connecting.
///
/// # Errors
/// What connecting would answer about the configuration; also when there is no such driver.
pub fn check(config: &Config) -> Result<()> {
    match config.driver.entry()?.check {
        Some(check) => check(config),
        None => Ok(()),
    }
}

/// Looks at the backend that the configuration names and tells how everything stands that the
/// driver knows to matter. Changes nothing that lasts.
///
/// # Errors
/// [`Error::Unsupported`] where the driver has no diagnosis; also when there is no such driver.
/// Whatever is wrong with the backend is a [`Finding`].
pub async fn diagnose(config: &Config) -> Result<Vec<Finding>> {
    let entry = config.driver.entry()?;
    match entry.diagnose {
        Some(diagnose) => Ok(diagnose(config.clone()).await),
        None => Err(entry.unsupported("diagnosis")),
    }
}

/// Brings the backend's tables up to date. On tables that are so it changes nothing.
///
/// # Errors
/// [`Error::Unsupported`] where the backend has no tables; also when there is no such driver;
/// otherwise what the backend says.
pub async fn migrate(config: &Config) -> Result<SchemaChange> {
    let entry = config.driver.entry()?;
    match entry.migrate {
        Some(migrate) => migrate(config.clone()).await,
        None => Err(entry.unsupported("migration")),
    }
}

impl super::DriverEntry {
    fn unsupported(&self, capability: &'static str) -> Error {
        Error::Unsupported {
            driver: self.schemes.first().copied().unwrap_or_default(),
            capability,
        }
    }
}
