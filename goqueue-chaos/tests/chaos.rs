//! A short run on every backend, and faulty drivers that have to be found.

use std::{path::Path, time::Duration};

use goqueue_chaos::{
    actor::Planted,
    run::{Plan, Verdict, folder, run},
    schedule::Cast,
};

fn plan(driver: &str, seed: u64, seconds: u64) -> Plan {
    Plan {
        driver: driver.into(),
        seed,
        length: Duration::from_secs(seconds),
        patience: Duration::from_secs(180),
        cast: Cast {
            producers: 2,
            workers: 2,
        },
        planted: None,
        program: env!("CARGO_BIN_EXE_goqueue-chaos").into(),
        folder: folder(Path::new(env!("CARGO_TARGET_TMPDIR")), driver, seed),
    }
}

async fn verdict(plan: &Plan) -> Verdict {
    let verdict = run(plan).await;
    verdict.unwrap_or_else(|error| panic!("{error}; see {}", plan.folder.display()))
}

async fn keeps_the_contract(driver: &str) {
    let plan = plan(driver, 4, 8);
    let verdict = verdict(&plan).await;
    let (figures, folder) = (verdict.figures, plan.folder.display());
    assert_eq!(
        verdict.violations,
        [],
        "{:#?}\nsee {folder}",
        verdict.schedule
    );
    assert!(
        figures.stored > 50 && figures.runs > 50 && figures.faults > 8,
        "{figures}"
    );
}

#[tokio::test]
async fn redis_keeps_the_contract() {
    keeps_the_contract("redis").await;
}

#[tokio::test]
async fn mysql_keeps_the_contract() {
    keeps_the_contract("mysql").await;
}

#[tokio::test]
async fn sqs_keeps_the_contract() {
    keeps_the_contract("sqs").await;
}

#[tokio::test]
async fn sqs_fifo_keeps_the_contract() {
    keeps_the_contract("sqs-fifo").await;
}

/// A driver that breaks one promise is found to break that one.
async fn is_found(seed: u64, planted: Planted, clause: &str) {
    is_found_on("redis", seed, planted, clause).await;
}

async fn is_found_on(driver: &str, seed: u64, planted: Planted, clause: &str) {
    let plan = Plan {
        planted: Some(planted),
        // Some of them never run empty.
        patience: Duration::from_secs(8),
        ..plan(driver, seed, 4)
    };
    let verdict = verdict(&plan).await;
    let found = &verdict.violations;
    assert!(
        found.iter().any(|violation| violation.clause == clause),
        "{planted} is no breach of {clause}: {found:#?}"
    );
}

#[tokio::test]
async fn jobs_that_are_acked_before_they_run_are_missed() {
    is_found(101, Planted::AckBeforeRun, "C1").await;
}

#[tokio::test]
async fn jobs_that_are_acked_before_they_run_are_missed_on_sqs_too() {
    is_found_on("sqs", 107, Planted::AckBeforeRun, "C1").await;
}

#[tokio::test]
async fn a_job_that_is_handed_out_twice_is_seen() {
    is_found(102, Planted::HandOutTwice, "C2").await;
}

#[tokio::test]
async fn attempts_that_are_not_counted_are_seen() {
    is_found(103, Planted::ForgetAttempts, "C3").await;
}

#[tokio::test]
async fn errors_that_are_not_kept_are_missed() {
    is_found(104, Planted::ForgetErrors, "C6").await;
}

#[tokio::test]
async fn jobs_out_of_order_are_seen() {
    is_found(105, Planted::IgnoreOrder, "C10").await;
}

#[tokio::test]
async fn a_second_job_of_a_unique_key_is_seen() {
    is_found(106, Planted::IgnoreUnique, "C11").await;
}
