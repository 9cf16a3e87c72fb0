//! The code of the README and of the guides, compiled and run by `cargo test`. The examples lie
//! beside this folder.

#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../../README.md")]
    mod readme {}

    #[doc = include_str!("../../docs/src/getting-started.md")]
    mod getting_started {}

    #[doc = include_str!("../../docs/src/retries-and-dead-letters.md")]
    mod retries_and_dead_letters {}

    #[cfg(feature = "mysql")]
    #[doc = include_str!("../../docs/src/transactional-enqueue.md")]
    mod transactional_enqueue {}

    #[doc = include_str!("../../docs/src/middleware.md")]
    mod middleware {}

    #[doc = include_str!("../../docs/src/configuration.md")]
    mod configuration {}

    #[doc = include_str!("../../docs/src/operating.md")]
    mod operating {}

    #[doc = include_str!("../../docs/src/the-command.md")]
    mod the_command {}

    #[doc = include_str!("../../docs/src/fixing-failing-jobs.md")]
    mod fixing_failing_jobs {}

    #[doc = include_str!("../../docs/src/json-output.md")]
    mod json_output {}

    #[doc = include_str!("../../docs/src/testing-your-jobs.md")]
    mod testing_your_jobs {}

    #[doc = include_str!("../../docs/src/log.md")]
    mod log {}

    #[doc = include_str!("../../docs/src/guarantees.md")]
    mod guarantees {}

    #[doc = include_str!("../../docs/src/benchmarks.md")]
    mod benchmarks {}

    #[doc = include_str!("../../docs/src/benchmarks/table.md")]
    mod figures_of_one_run {}

    #[doc = include_str!("../../docs/src/writing-a-driver.md")]
    mod writing_a_driver {}

    #[doc = include_str!("../../docs/src/comparison.md")]
    mod comparison {}
}
