//! Drivers that each break one promise, and the case that is meant to notice.
//!
//! A suite that passes says little until it is known what makes it fail. [`mutants!`](macro@crate::mutants) runs the case
//! on the driver as it is, which has to pass, and on the mutant, which has to fail.

mod counting;
mod dead_letters;
mod honesty;
mod keys;
mod leases;
mod list;
mod loss;
mod mutated;
mod time;

use std::{fmt, sync::Arc};

use goqueue_core::driver::Driver;

use crate::{clause::Clause, harness::Harness, suite::Case, verdict};

pub use list::MUTANTS;
use mutated::Mutated;

/// A driver that breaks one promise, whatever driver is inside.
#[derive(Clone, Copy)]
pub struct Mutant {
    /// What it does wrong.
    pub name: &'static str,
    /// The clause it breaks.
    pub clause: Clause,
    /// The case that has to notice.
    pub case: &'static str,
    make: fn(Arc<dyn Driver>) -> Arc<dyn Driver>,
}

impl Mutant {
    /// The mutant of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        MUTANTS.iter().find(|mutant| mutant.name == name)
    }
}

impl fmt::Debug for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?}::{})", self.name, self.clause, self.case)
    }
}

/// Requires that a case passes on a driver and fails on a mutant of it.
///
/// # Panics
/// When the mutant gets away with it, or the driver itself fails.
pub fn check_mutant(harness: &dyn Harness, name: &str) {
    let Some(mutant) = Mutant::named(name) else {
        panic!("there is no mutant `{name}`")
    };
    let (clause, case) = (mutant.clause, mutant.case);
    let Some(case) = Case::named(clause, case) else {
        panic!("{clause} has no case `{case}`")
    };
    if let Err(broken) = verdict(harness, case) {
        panic!("expected: the driver itself passes\nhappened: {broken}");
    }
    match verdict(&Mutated::new(harness, mutant.make), case) {
        Err(broken) => println!("{name} is caught:\n{broken}"),
        Ok(()) => panic!(
            "expected: a driver that {name} does not pass `{}` of {clause}\nhappened: it does",
            case.name
        ),
    }
}

/// Makes a test of every mutant: the driver of the harness passes the case meant for it, and the
/// mutant fails it.
///
/// ```no_run
/// use std::sync::Arc;
/// use goqueue_conformance::{InProcess, SpecDriver};
///
/// goqueue_conformance::mutants!(InProcess::new("spec", || Arc::new(SpecDriver::new())));
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! mutants {
    ($harness:expr) => {
        $crate::for_each_mutant! { [$crate::tests_of_mutants] [$harness] }
    };
}

/// Part of [`mutants!`](macro@crate::mutants).
#[doc(hidden)]
#[macro_export]
macro_rules! tests_of_mutants {
    ([$harness:expr] $($name:ident: $make:path => $clause:ident $case:ident;)+) => {
        $(
            #[test]
            fn $name() {
                $crate::mutants::check_mutant(&$harness, stringify!($name));
            }
        )+
    };
}
