//! The code of the README and of the guides, compiled and run by `cargo test`.

#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../README.md")]
    mod readme {}

    #[doc = include_str!("src/getting-started.md")]
    mod getting_started {}

    #[doc = include_str!("src/retries-and-dead-letters.md")]
    mod retries_and_dead_letters {}

    #[cfg(feature = "mysql")]
    #[doc = include_str!("src/transactional-enqueue.md")]
    mod transactional_enqueue {}

    #[doc = include_str!("src/middleware.md")]
    mod middleware {}

    #[doc = include_str!("src/configuration.md")]
    mod configuration {}

    #[doc = include_str!("src/operating.md")]
    mod operating {}

    #[doc = include_str!("src/the-command.md")]
    mod the_command {}

    #[doc = include_str!("src/fixing-failing-jobs.md")]
    mod fixing_failing_jobs {}

    #[doc = include_str!("src/json-output.md")]
    mod json_output {}

    #[doc = include_str!("src/testing-your-jobs.md")]
    mod testing_your_jobs {}

    #[doc = include_str!("src/log.md")]
    mod log {}

    #[doc = include_str!("src/guarantees.md")]
    mod guarantees {}

    #[doc = include_str!("src/benchmarks.md")]
    mod benchmarks {}

    #[doc = include_str!("src/benchmarks/table.md")]
    mod figures_of_one_run {}

    #[doc = include_str!("src/writing-a-driver.md")]
    mod writing_a_driver {}

    #[doc = include_str!("src/comparison.md")]
    mod comparison {}
}
