//! What the cases are written with.

mod bench;
mod client;
mod crew;
mod logs;
mod probe;
mod records;

pub(crate) use bench::{Bench, QUEUE};
pub(crate) use client::{Client, dead, is_counted_as, listed, queue_name, retry};
pub(crate) use crew::Crew;
pub(crate) use logs::{install as install_logs, logged};
pub(crate) use probe::{Act, Probe};
pub(crate) use records::{Records, Run};
