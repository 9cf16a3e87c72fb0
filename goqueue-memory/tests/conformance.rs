//! The contract, clause by clause, on the driver in memory.

use std::sync::Arc;

use goqueue_conformance::{InProcess, Store};
use goqueue_core::{Config, driver::DriverUrl};
use goqueue_memory::MemoryDriver;

fn harness() -> InProcess {
    InProcess::addressed("memory", |store: &Store| {
        let url = DriverUrl::new(format!("memory://{store}"));
        let config = Config::default().with_driver(url);
        Arc::new(MemoryDriver::connect(&config).expect("a store in memory can be connected to"))
    })
}

goqueue_conformance::suite!(harness());
