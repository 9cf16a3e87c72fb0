//! The log's contract, clause by clause, against a real server.

mod support;

goqueue_conformance::log_suite!(support::MysqlLogHarness::new());

/// Naive designs fail the case that is meant for them, which the log itself passes.
mod mutants {
    goqueue_conformance::log_mutants!(super::support::MysqlLogHarness::new());
}
