//! The driver of the guide "Writing a driver" keeps the contract.

use std::sync::Arc;

use goqueue_conformance::InProcess;
use list_driver::ListDriver;

#[path = "../list_driver.rs"]
mod list_driver;

goqueue_conformance::suite!(InProcess::new("list", || Arc::new(ListDriver::default())));
