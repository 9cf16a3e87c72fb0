//! Servers of one test alone, and lines to them that break: for the tests that stop, fill or cut
//! what others share.

#[cfg(feature = "certificates")]
mod certificates;
mod port;
mod private;
mod proxy;

#[cfg(feature = "certificates")]
pub use certificates::Certificates;
pub use port::free_port;
pub use private::PrivateServer;
pub use proxy::Proxy;
