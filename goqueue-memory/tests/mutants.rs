//! The suite catches what it is meant to catch: every broken driver around the one in memory fails
//! the case meant for it, which the driver itself passes.

use std::sync::Arc;

use goqueue_conformance::InProcess;
use goqueue_memory::MemoryDriver;

goqueue_conformance::mutants!(InProcess::new("memory", || Arc::new(MemoryDriver::new())));
