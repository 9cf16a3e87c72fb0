//! Each broken driver is caught, here with the reference model inside.

use std::sync::Arc;

use goqueue_conformance::{InProcess, SpecDriver};

goqueue_conformance::mutants!(InProcess::new("spec", || Arc::new(SpecDriver::new())));
