//! The cases, in a module per clause. Each is a promise; its name says which.
//!
//! A case branches on a capability, never on a driver's name: where a backend cannot keep a clause,
//! its refusal is what is checked.

pub(crate) mod c01_at_least_once;
pub(crate) mod c02_one_holder;
pub(crate) mod c03_attempts;
pub(crate) mod c04_retry_schedule;
pub(crate) mod c05_never_early;
pub(crate) mod c06_dead_letters;
pub(crate) mod c07_answers;
pub(crate) mod c08_long_jobs;
pub(crate) mod c09_shutdown;
pub(crate) mod c10_order;
pub(crate) mod c11_unique;
pub(crate) mod c12_bulk;
pub(crate) mod c13_weights;
pub(crate) mod c14_honest_failure;
pub(crate) mod c15_secrets;
