//! The contract on Valkey, and what else may differ there: what goes wrong, and which keys are used.
//! `cargo xtask test` starts the server; the tests know by the name of this binary which one is meant.

#![allow(
    clippy::duplicate_mod,
    reason = "each file brings the helpers it is tested with elsewhere"
)]

mod support;

mod valkey_conformance {
    use super::support::RedisHarness;
    goqueue_conformance::suite!(RedisHarness::single("valkey"));
}

#[path = "faults.rs"]
mod valkey_faults;

#[path = "slots.rs"]
mod valkey_slots;

#[path = "verbs.rs"]
mod valkey_verbs;
