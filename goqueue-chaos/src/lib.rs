//! Chaos: whether the contract holds while everything around it breaks.
//!
//! A run has producers and workers, each a process of its own, on a private server of one backend.
//! A [schedule] that a seed makes kills, stops and starts them, kills and freezes the
//! server, and cuts, slows and tears the lines between them. Everybody writes what happens to an
//! append-only [ledger] of its own, outside of the backend. In the end everything is mended,
//! the queues run empty, and the [checker](check) reads the ledgers and says which promises were
//! broken.
//!
//! The same seed makes the same schedule. What the system makes of it in between is its own, so a
//! seed that failed is likely, not certain, to fail again.
//!
//! The server of SQS keeps its queues in memory: SIGKILL would lose them by its design, not by the
//! driver's fault. So it is frozen wherever the schedule kills another, and all else stays. Where a
//! backend says in its capabilities that it cannot tell a late settlement, as SQS does, whoever was
//! late may end a job once more, or bury it twice, and the checker calls that no breach.
//!
//! `cargo xtask chaos --help` has the command. A new driver needs a file in [`backend`] and a line in
//! its table.

pub mod actor;
pub mod backend;
pub mod check;
pub mod ledger;
pub mod run;
pub mod schedule;
pub mod stage;
pub mod task;
