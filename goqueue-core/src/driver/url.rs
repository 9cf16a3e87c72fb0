//! Driver URLs, and how one becomes a driver.

use std::{collections::BTreeMap, fmt, future::Future, pin::Pin, sync::Arc};

use super::{DiagnoseFuture, Driver, MigrateFuture};
use crate::{
    config::Config,
    error::{Error, Result},
};

/// Every scheme goqueue knows, with the Cargo feature of the facade that brings its driver.
const KNOWN: [(&str, &str); 8] = [
    ("memory", "memory"),
    ("redis", "redis"),
    ("rediss", "redis"),
    ("redis+unix", "redis"),
    ("redis-cluster", "redis"),
    ("rediss-cluster", "redis"),
    ("mysql", "mysql"),
    ("sqs", "sqs"),
];

/// The address of a backend. Shows neither user nor password nor query in `Debug` and `Display`.
///
/// ```
/// # use goqueue_core::driver::DriverUrl;
/// let url = DriverUrl::new("redis://worker:hunter2@127.0.0.1:6379/0");
/// assert_eq!(url.scheme(), "redis");
/// assert_eq!(url.to_string(), "redis://***@127.0.0.1:6379/0");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct DriverUrl(Arc<str>);

impl DriverUrl {
    /// Takes any text; what is wrong with it shows when it is connected to.
    pub fn new(url: impl AsRef<str>) -> Self {
        Self(url.as_ref().into())
    }

    /// The driver it names: what stands before `://`, in lower case. Empty when that is no scheme:
    /// letters, digits, `+`, `-` and `.`.
    #[must_use]
    pub fn scheme(&self) -> String {
        self.parts()
            .map_or("", |(scheme, _)| scheme)
            .to_ascii_lowercase()
    }

    /// The scheme and the rest. `None` for what is no URL: all of it may be a secret that was pasted
    /// into the wrong place.
    fn parts(&self) -> Option<(&str, &str)> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let parts = self.0.split_once("://");
        parts.filter(|(scheme, _)| scheme.chars().all(is_part))
    }

    /// The whole text, secrets included. For the driver that connects, and for nothing else.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Options given as `?key=value&…`, still percent-encoded; a repeated key keeps its last value.
    #[must_use]
    pub fn options(&self) -> BTreeMap<&str, &str> {
        let query = self.0.split_once('?').map_or("", |(_, query)| query);
        query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .collect()
    }

    /// Connects, through whichever driver of this program serves the scheme.
    pub(crate) async fn connect(&self, config: &Config) -> Result<Arc<dyn Driver>> {
        let connected = (self.entry()?.connect)(config.clone()).await;
        connected.map_err(|error| config.located(error))
    }

    /// The driver of this program that serves the scheme.
    pub(super) fn entry(&self) -> Result<&'static DriverEntry> {
        let scheme = self.scheme();
        inventory::iter::<DriverEntry>
            .into_iter()
            .find(|entry| entry.schemes.contains(&scheme.as_str()))
            .ok_or_else(|| {
                let compiled = inventory::iter::<DriverEntry>
                    .into_iter()
                    .flat_map(|entry| entry.schemes.iter().copied());
                not_here(scheme, compiled.collect())
            })
    }

    /// Why there is no log behind this URL, given the schemes that have one here.
    pub(crate) fn no_log(&self, compiled: Vec<&'static str>) -> Error {
        let scheme = self.scheme();
        let is_driver = |entry: &&DriverEntry| entry.schemes.contains(&scheme.as_str());
        let known = KNOWN.iter().find(|(known, _)| *known == scheme);
        match (
            known,
            inventory::iter::<DriverEntry>.into_iter().find(is_driver),
        ) {
            (Some((driver, _)), Some(_)) => Error::Unsupported {
                driver,
                capability: "the message log",
            },
            _ => not_here(scheme, compiled),
        }
    }
}

/// Why a scheme cannot be connected to, given those that can.
fn not_here(scheme: String, mut compiled: Vec<&'static str>) -> Error {
    let Some((_, feature)) = KNOWN.iter().find(|(known, _)| *known == scheme) else {
        // Without a scheme the text may be a secret pasted into the wrong place.
        let given = if scheme.is_empty() {
            "(no scheme)".into()
        } else {
            scheme
        };
        let allowed: Vec<_> = KNOWN
            .iter()
            .map(|(known, _)| format!("{known}://"))
            .collect();
        return Error::UnknownDriver {
            given,
            allowed: allowed.join(", "),
        };
    };
    compiled.sort_unstable();
    let compiled = match compiled.as_slice() {
        [] => "none".into(),
        schemes => schemes.join(", "),
    };
    Error::DriverNotCompiled {
        driver: scheme,
        feature,
        compiled,
    }
}

impl fmt::Display for DriverUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((scheme, rest)) = self.parts() else {
            return f.write_str("***");
        };
        // A password may itself hold `@`, `/` or `?`: nothing before the last `@` is shown.
        let (secret, rest) = match rest.rsplit_once('@') {
            Some((_, rest)) => ("***@", rest),
            None => ("", rest),
        };
        match rest.split_once('?') {
            Some((visible, _)) => write!(f, "{scheme}://{secret}{visible}?***"),
            None => write!(f, "{scheme}://{secret}{rest}"),
        }
    }
}

impl fmt::Debug for DriverUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl From<&str> for DriverUrl {
    fn from(url: &str) -> Self {
        Self::new(url)
    }
}

/// What a connecting driver returns.
pub type ConnectFuture = Pin<Box<dyn Future<Output = Result<Arc<dyn Driver>>> + Send>>;

/// A driver that is compiled in. The facade submits one per enabled feature through `inventory`;
/// a driver of your own can do the same, or be handed to [`Queue::new`](crate::Queue::new).
pub struct DriverEntry {
    pub(super) schemes: &'static [&'static str],
    connect: fn(Config) -> ConnectFuture,
    pub(super) check: Option<fn(&Config) -> Result<()>>,
    pub(super) diagnose: Option<fn(Config) -> DiagnoseFuture>,
    pub(super) migrate: Option<fn(Config) -> MigrateFuture>,
}

impl DriverEntry {
    /// Serves `schemes` (lower case) with `connect`.
    #[must_use]
    pub const fn new(
        schemes: &'static [&'static str],
        connect: fn(Config) -> ConnectFuture,
    ) -> Self {
        Self {
            schemes,
            connect,
            check: None,
            diagnose: None,
            migrate: None,
        }
    }

    /// Has a check of the URL and the driver's own table that does not connect; see
    /// [`check`](super::check()).
    #[must_use]
    pub const fn with_check(mut self, check: fn(&Config) -> Result<()>) -> Self {
        self.check = Some(check);
        self
    }

    /// Has a diagnosis; see [`diagnose`](super::diagnose()).
    #[must_use]
    pub const fn with_diagnose(mut self, diagnose: fn(Config) -> DiagnoseFuture) -> Self {
        self.diagnose = Some(diagnose);
        self
    }

    /// Has tables to be brought up to date; see [`migrate`](super::migrate()).
    #[must_use]
    pub const fn with_migrate(mut self, migrate: fn(Config) -> MigrateFuture) -> Self {
        self.migrate = Some(migrate);
        self
    }
}

impl fmt::Debug for DriverEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DriverEntry")
            .field("schemes", &self.schemes)
            .finish_non_exhaustive()
    }
}

inventory::collect!(DriverEntry);
