//! Whether the ledgers of a run agree with the contract.

mod deliveries;
mod fates;
mod history;
mod keys;
mod letters;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::ledger::Line;

pub use history::History;

/// What the backend claims, as far as the checks depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Claims {
    /// Whether a late settlement is always told.
    pub stale_settle: bool,
}

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The clause of the contract.
    pub clause: &'static str,
    /// How.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.clause, self.text)
    }
}

/// Everything that is wrong, clause by clause.
#[must_use]
pub fn check(lines: &[Line], claims: Claims) -> Vec<Violation> {
    let history = History::of(lines);
    let mut found = Found::default();
    fates::check(&history, &mut found);
    deliveries::check(&history, claims, &mut found);
    letters::check(&history, claims, &mut found);
    keys::check_order(&history, &mut found);
    keys::check_unique(&history, &mut found);
    found.0
}

/// The violations found so far.
#[derive(Debug, Default)]
pub(crate) struct Found(Vec<Violation>);

impl Found {
    fn note(&mut self, clause: &'static str, text: String) {
        self.0.push(Violation { clause, text });
    }
}
