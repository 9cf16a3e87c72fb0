//! The contract, on standard and on FIFO queues. `cargo xtask test` starts the services.
//!
//! ministack runs every case. LocalStack, which is strict about limits and hands out some seventy
//! messages a second, runs all but those that move hundreds of jobs.
//!
//! The cases run at once, each on queues of its own: SQS counts in seconds, so most of a case is
//! waiting.

mod support;

/// Cases at a time.
const AT_ONCE: usize = 16;

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

mod strict {
    use goqueue_conformance::{Case, Clause};

    use super::{
        AT_ONCE,
        support::{Kind, LOCALSTACK, SqsHarness},
    };

    /// Cases that move hundreds of jobs, megabytes, or time each call.
    const HEAVY: [&str; 9] = [
        "a_batch_is_split_by_its_bytes",
        "a_rough_day_loses_nothing",
        "an_exclusive_claim_holds_under_load",
        "many_due_jobs_do_not_hold_up_a_claim",
        "many_long_jobs_are_all_kept",
        "random_histories_match_the_model",
        "thousands_are_stored_in_order",
        "two_reservers_never_hold_one_job",
        "two_workers_run_each_job_once",
    ];

    fn is_light(case: &Case) -> bool {
        case.clause != Clause::C13 && !HEAVY.contains(&case.name)
    }

    #[test]
    fn every_light_case_holds_on_a_standard_queue() {
        let harness = || SqsHarness::new(LOCALSTACK, Kind::Standard);
        goqueue_conformance::run_all(harness, is_light, AT_ONCE);
    }

    #[test]
    fn child_entry() {
        goqueue_conformance::child_entry(&SqsHarness::new(LOCALSTACK, Kind::Standard));
    }
}
