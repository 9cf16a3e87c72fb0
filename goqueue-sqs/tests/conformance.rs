//! The contract, on standard and on FIFO queues. `cargo xtask test` starts the services.
//!
//! The cases run at once, each on queues of its own: SQS counts in seconds, so most of a case is
//! waiting.

mod support;

/// Cases at a time.
const AT_ONCE: usize = 24;

mod standard {
    use super::{
        AT_ONCE,
        support::{Kind, MINISTACK, SqsHarness},
    };

    fn harness() -> SqsHarness {
        SqsHarness::new(MINISTACK, Kind::Standard)
    }

    #[test]
    fn every_case_holds() {
        goqueue_conformance::run_all(harness, |_| true, AT_ONCE);
    }

    #[test]
    fn child_entry() {
        goqueue_conformance::child_entry(&harness());
    }
}

mod fifo {
    use super::{
        AT_ONCE,
        support::{Kind, MINISTACK, SqsHarness},
    };

    fn harness() -> SqsHarness {
        SqsHarness::new(MINISTACK, Kind::Fifo)
    }

    #[test]
    fn every_case_holds() {
        goqueue_conformance::run_all(harness, |_| true, AT_ONCE);
    }

    #[test]
    fn child_entry() {
        goqueue_conformance::child_entry(&harness());
    }
}
