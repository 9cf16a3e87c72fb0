//! Pages of a listing.

use std::{fmt, str::FromStr};

use goqueue_core::{Error, Result, driver::PageRequest};

/// The most items of a page, and of one call that steers.
pub(crate) const PAGE: usize = 1_000;

/// A place in a listing by time: the time, and how many of that time were listed of each set.
#[derive(Clone, Copy)]
pub(crate) struct TimeCursor {
    pub(crate) time: u64,
    pub(crate) passed: [u64; 2],
}

impl TimeCursor {
    pub(crate) fn after(before: Option<Self>, time: u64, set: usize) -> Self {
        let mut at = before.filter(|at| at.time == time).unwrap_or(Self {
            time,
            passed: [0, 0],
        });
        at.passed[set] += 1;
        at
    }
}

impl FromStr for TimeCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('.').map(|part| part.parse().map_err(|_| ()));
        let mut part = || parts.next().unwrap_or(Err(()));
        Ok(Self {
            time: part()?,
            passed: [part()?, part()?],
        })
    }
}

impl fmt::Display for TimeCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.time, self.passed[0], self.passed[1])
    }
}

/// Reads the `next` of the page before.
pub(crate) fn cursor<T: FromStr>(text: &str) -> Result<T> {
    text.parse().map_err(|_| Error::Invalid {
        what: "page cursor",
        given: text.into(),
        allowed: "the `next` of the page before, as it was given",
    })
}

/// How many items a page may have.
pub(crate) fn limit_of(page: &PageRequest) -> Result<usize> {
    if page.limit == 0 {
        let (setting, given) = ("limit", "0".into());
        return Err(Error::InvalidSetting {
            setting,
            given,
            allowed: "1 or more",
        });
    }
    Ok(page.limit.min(PAGE))
}
