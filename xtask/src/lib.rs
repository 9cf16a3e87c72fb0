//! The workspace's own commands, run as `cargo xtask …`.
//!
//! | command | what it does |
//! | --- | --- |
//! | `test` | starts the services the tests need, runs `cargo test`, stops them again |
//! | `with` | the same around any other command, with services named by hand |
//! | `chaos` | breaks servers, lines and processes under load, and checks the contract |
//! | `check` | formatting, clippy, rustdoc, cargo-deny, every feature of the facade |
//! | `ci` | what `.ci/run` does after the tests |
//!
//! [`services`] starts and stops a server, [`process`] makes sure that no child survives,
//! [`session`] puts the two around one command.

pub mod check;
pub mod echo;
pub mod process;
pub mod redis_cluster;
pub mod services;
pub mod session;
pub mod workspace;
