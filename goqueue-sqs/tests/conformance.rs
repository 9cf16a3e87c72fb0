//! The contract, on standard and on FIFO queues. `cargo xtask test` starts the services.

mod support;

mod standard {
    use super::support::{Kind, MINISTACK, SqsHarness};
    goqueue_conformance::suite!(SqsHarness::new(MINISTACK, Kind::Standard));
}

mod fifo {
    use super::support::{Kind, MINISTACK, SqsHarness};
    goqueue_conformance::suite!(SqsHarness::new(MINISTACK, Kind::Fifo));
}
