//! Child processes that never outlive this one, and the signals that end it.

mod group;
mod run;
mod signals;

pub use group::Group;
pub use run::{End, run};
pub use signals::Interrupts;
