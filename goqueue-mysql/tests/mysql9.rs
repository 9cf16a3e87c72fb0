//! The contract on MySQL 9, and everything else whose outcome depends on the server. The other
//! binaries have MariaDB. `cargo xtask test` starts both; the tests know by the name of this binary
//! which one is meant.

#![allow(
    clippy::duplicate_mod,
    reason = "each file brings the helpers it is tested with elsewhere"
)]

#[path = "conformance.rs"]
mod mysql9_conformance;

#[path = "concurrency.rs"]
mod mysql9_concurrency;

#[path = "crash.rs"]
mod mysql9_crash;

#[path = "diagnose.rs"]
mod mysql9_diagnose;

#[path = "faults.rs"]
mod mysql9_faults;

#[path = "hand_over.rs"]
mod mysql9_hand_over;

#[path = "rows.rs"]
mod mysql9_rows;

#[path = "schema.rs"]
mod mysql9_schema;

#[path = "sink.rs"]
mod mysql9_sink;

#[path = "tls.rs"]
mod mysql9_tls;

#[path = "transaction.rs"]
mod mysql9_transaction;

#[path = "verbs.rs"]
mod mysql9_verbs;
