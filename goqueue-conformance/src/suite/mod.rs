//! The list of cases, and how one is run.

mod all;
mod cases;
mod run;
mod table;

use std::fmt;

use futures_util::future::LocalBoxFuture;

use crate::{clause::Clause, harness::Harness};

pub use all::run_all;
pub use cases::CASES;
pub(crate) use run::{be_quiet, is_quiet, quietly, run_to_the_end};
pub use run::{run, verdict};
pub use table::{MARKS, check_table, table};
pub(crate) use table::{check_table_between, table_of};

/// One case of the suite.
#[derive(Clone, Copy)]
pub struct Case {
    /// The clause of the contract that it checks.
    pub clause: Clause,
    /// Its name: what is promised.
    pub name: &'static str,
    /// Whether it needs several threads and the real clock, whatever the harness runs on.
    pub is_real_time: bool,
    pub(crate) run: for<'h> fn(&'h dyn Harness) -> LocalBoxFuture<'h, ()>,
}

impl Case {
    /// The case of this name.
    #[must_use]
    pub fn named(clause: Clause, name: &str) -> Option<&'static Self> {
        CASES
            .iter()
            .find(|case| case.clause == clause && case.name == name)
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}::{}", self.clause, self.name)
    }
}

/// Turns every case into an ordinary test on the backend of a harness, in a module per clause.
///
/// The expression makes a harness; it is evaluated in every test. Call it at the root of an
/// integration test, or in a module of its own for each of several harnesses.
///
/// ```no_run
/// use std::sync::Arc;
/// use goqueue_conformance::{InProcess, SpecDriver};
///
/// goqueue_conformance::suite!(InProcess::new("spec", || Arc::new(SpecDriver::new())));
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! suite {
    ($harness:expr) => {
        $crate::for_each_case! { [$crate::suite_of_tests] [$harness] }

        #[test]
        fn child_entry() {
            $crate::child_entry(&$harness);
        }
    };
}

/// Part of [`suite!`].
#[doc(hidden)]
#[macro_export]
macro_rules! suite_of_tests {
    (
        [$harness:expr]
        $($clause:ident $module:ident { $($name:ident $(: $clock:ident)?,)+ })+
    ) => {
        $(
            mod $module {
                #[allow(unused_imports, reason = "the harness may be named by a path")]
                use super::*;

                $(
                    #[test]
                    fn $name() {
                        $crate::run(&$harness, $crate::Clause::$clause, stringify!($name));
                    }
                )+
            }
        )+
    };
}
