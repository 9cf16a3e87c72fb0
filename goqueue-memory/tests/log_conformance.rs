//! The log's contract, clause by clause, on the log in memory.

use std::sync::Arc;

use goqueue_conformance::{Store, log::LogInProcess};
use goqueue_core::{Config, driver::DriverUrl};
use goqueue_memory::MemoryLog;

fn harness() -> LogInProcess {
    LogInProcess::new("memory", |store: &Store| {
        let url = DriverUrl::new(format!("memory://{store}"));
        let config = Config::default().with_driver(url);
        Arc::new(MemoryLog::connect(&config).expect("a log in memory can be connected to"))
    })
}

goqueue_conformance::log_suite!(harness());

/// Naive designs fail the case that is meant for them, which the log itself passes.
mod mutants {
    use super::*;

    goqueue_conformance::log_mutants!(harness());
}
