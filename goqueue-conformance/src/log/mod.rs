//! The suite of the partitioned message log: every backend runs it unchanged, and naive designs
//! have to fail it.

mod bench;
mod cases;
mod clause;
mod harness;
mod mutants;
mod quirky;
mod suite;

pub use clause::LogClause;
pub use harness::{Held, LogHarness, LogInProcess};
pub use mutants::{LOG_MUTANTS, LogMutant, check_log_mutant};
pub use suite::{LOG_CASES, LOG_MARKS, LogCase, check_log_table, log_verdict, run_log};
