//! The servers that tests talk to: private instances on free loopback ports, one per run.
//!
//! A [`Service`] is a description without behaviour, and [`catalogue`] lists the ones there are.
//! [`Services::start`] starts some of them in parallel; each becomes an [`Instance`] once its
//! [`Probe`] is answered. Whatever happens to this process, none of them outlives it.

pub mod catalogue;
mod error;
mod install;
mod instance;
mod place;
mod port;
mod probe;
mod service;
mod set;
pub mod sqs;
pub mod unstable;

pub use error::Error;
pub use install::{Machine, Remedy};
pub use instance::Instance;
pub use place::Place;
pub use port::free_port;
pub use probe::Probe;
pub use service::Service;
pub use set::{Remains, Services};
