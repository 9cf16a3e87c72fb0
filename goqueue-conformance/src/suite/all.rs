use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::{CASES, Case, verdict};
use crate::harness::Harness;

/// Set to a part of a case's name, leaves only those cases to [`run_all`].
const ONLY: &str = "GOQUEUE_TEST_CASE";

/// Runs many cases at once, for a backend that is slow because it waits: with a clock that counts in
/// seconds, cases that ran one after the other would take most of an hour. A case that fails is
/// tried once more when the others are done, since their noise may have been to blame.
///
/// `make` makes a harness for each case, `wanted` picks the cases, and `at_once` says how many run
/// at a time. `GOQUEUE_TEST_CASE` leaves only those whose name has that part.
///
/// # Panics
/// When a case fails twice, with what it expected and what happened; and when no case is wanted.
pub fn run_all<H: Harness>(
    make: impl Fn() -> H + Sync,
    wanted: impl Fn(&Case) -> bool,
    at_once: usize,
) {
    let only = std::env::var(ONLY).unwrap_or_default();
    let cases: Vec<_> = CASES
        .iter()
        .filter(|case| wanted(case) && case.name.contains(&only))
        .collect();
    assert!(
        !cases.is_empty() || !only.is_empty(),
        "none of the {} cases is wanted",
        CASES.len()
    );
    let name = make().name().to_owned();
    let failed = at_a_time(&make, &cases, at_once);
    let again: Vec<_> = failed.iter().map(|(case, _)| *case).collect();
    for (case, broken) in &failed {
        println!("{name}: {case:?} is tried again: {broken}");
    }
    let broken = at_a_time(&make, &again, at_once.div_ceil(8));
    println!(
        "{name}: {} of {} cases hold, {} of them at the second try",
        cases.len() - broken.len(),
        cases.len(),
        failed.len() - broken.len()
    );
    let told: Vec<_> = broken.into_iter().map(|(_, told)| told).collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
}

/// Runs cases on some threads, and answers those that failed.
fn at_a_time<'c, H: Harness>(
    make: &(impl Fn() -> H + Sync),
    cases: &[&'c Case],
    threads: usize,
) -> Vec<(&'c Case, String)> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(broken) = verdict(&make(), case) {
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.push((*case, broken));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads.min(cases.len()) {
            scope.spawn(work);
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)
}
