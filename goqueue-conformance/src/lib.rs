#![doc = include_str!("../README.md")]

mod cases;
mod check;
mod clause;
mod harness;
pub mod log;
mod model;
pub mod mutants;
mod process;
pub mod server;
mod suite;
mod tools;
pub mod wrap;

pub use clause::Clause;
pub use harness::{Harness, InProcess, NoServer, Store, Timing, real_time_runtime};
pub use model::SpecDriver;
pub use mutants::Mutant;
pub use process::child_entry;
pub use suite::{CASES, Case, MARKS, check_table, run, run_all, table, verdict};
pub use wrap::{Faults, FaultyDriver, Spy};
