//! The suite on the reference model: what it asks for can be had.

use std::sync::Arc;

use goqueue_conformance::{InProcess, SpecDriver};

goqueue_conformance::suite!(InProcess::new("spec", || Arc::new(SpecDriver::new())));
