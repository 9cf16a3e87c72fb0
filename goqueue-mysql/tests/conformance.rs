//! The contract. `cargo xtask test` starts the server.

mod support;

use support::MysqlHarness;

goqueue_conformance::suite!(MysqlHarness::new());
