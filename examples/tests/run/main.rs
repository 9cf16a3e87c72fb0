//! Runs the examples as programs and reads what they say.

// Signals are how a program is told to stop.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    reason = "all of this is test code, the helpers as well"
)]

mod files;
mod others;
mod process;
mod quickstart;
mod terminal;
