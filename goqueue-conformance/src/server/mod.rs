//! Servers of one test alone, and lines to them that break: for the tests that stop, fill or cut
//! what others share.

mod port;
mod private;
mod proxy;

pub use port::free_port;
pub use private::PrivateServer;
pub use proxy::Proxy;
