use std::{
    any::Any,
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Once,
    time::Duration,
};

use futures_util::FutureExt;
use tokio::runtime::Runtime;

use super::Case;
use crate::{
    clause::Clause,
    harness::{Harness, RealTime},
};

/// Runs one case on a backend.
///
/// # Panics
/// When the backend breaks the promise, or there is no such case.
pub fn run(harness: &dyn Harness, clause: Clause, name: &str) {
    let Some(case) = Case::named(clause, name) else {
        panic!("{clause} has no case `{name}`")
    };
    if let Err(broken) = attempt(harness, case) {
        panic!("{broken}");
    }
}

/// Runs one case on a backend and tells what it thinks, quietly.
///
/// # Errors
/// The clause that is broken, what was expected and what happened.
pub fn verdict(harness: &dyn Harness, case: &Case) -> Result<(), String> {
    quietly(|| attempt(harness, case))
}

fn attempt(harness: &dyn Harness, case: &Case) -> Result<(), String> {
    crate::tools::install_logs();
    let real_time = RealTime(harness);
    let harness = if case.is_real_time {
        &real_time
    } else {
        harness
    };
    let outcome = run_to_the_end(harness.runtime(), (case.run)(harness), harness.clean_up());
    outcome.map_err(|panic| {
        let (clause, name, harness) = (case.clause, case.name, harness.name());
        format!("{clause} is broken on {harness}, says `{name}`\n{panic}")
    })
}

/// Runs a case and cleans up, and tells with what text it panicked.
pub(crate) fn run_to_the_end(
    runtime: Runtime,
    case: impl Future<Output = ()>,
    clean_up: impl Future<Output = ()>,
) -> Result<(), String> {
    let outcome = runtime.block_on(async {
        let outcome = AssertUnwindSafe(case).catch_unwind().await;
        clean_up.await;
        outcome
    });
    // A handler may still block its thread.
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome.map_err(|panic| text_of(&*panic).to_owned())
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&'static str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "it panicked without a text"
    }
}

/// Whether the panics of this thread are kept out of the output.
pub(crate) fn is_quiet() -> bool {
    IS_QUIET.get()
}

/// Keeps the panics of this thread out of the output from now on.
pub(crate) fn be_quiet() {
    IS_QUIET.set(true);
}

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the panics of this thread out of the output: they are the expected result.
pub(crate) fn quietly<T>(body: impl FnOnce() -> T) -> T {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IS_QUIET.get() {
                loud(panic);
            }
        }));
    });
    IS_QUIET.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(body));
    IS_QUIET.set(false);
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
