//! A reservation carries a lease token. While the lease is valid no other worker gets the job; a
//! stale token changes nothing.

mod holding;
mod latecomers;
mod load;
mod stale;

pub(crate) use holding::*;
pub(crate) use latecomers::*;
pub(crate) use load::*;
pub(crate) use stale::*;
