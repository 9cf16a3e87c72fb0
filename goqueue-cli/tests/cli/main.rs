//! Runs the command as a program, against real servers.

#![expect(
    clippy::unwrap_used,
    reason = "all of this is test code, the helpers as well"
)]

mod away;
mod dead;
mod doctor;
mod golden;
#[cfg(unix)]
mod interrupt;
mod jobs;
mod log;
mod places;
mod program;
mod queues;
mod schema;
mod secrets;
mod sqs;
#[cfg(target_os = "linux")]
mod terminal;
mod usage;
mod walkthrough;
