//! Servers that a stable Debian does not have, out of the packages of Debian unstable.
//!
//! They are unpacked into a folder in the user's cache and run through that folder's own dynamic
//! loader, so that neither root nor a container is needed and the system stays as it is. Which
//! versions they are is up to the day; a folder is used for a week.

mod folder;
mod packages;
mod servers;

pub use folder::{Folder, Provided};
pub use servers::{mysql, valkey};

use super::Service;

/// Every service that comes from there.
#[must_use]
pub fn all() -> Vec<Service> {
    vec![mysql(), valkey()]
}
