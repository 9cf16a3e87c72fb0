//! What a panic leaves behind.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;

use std::sync::{Arc, Mutex};

use common::{Act, run};
use goqueue_core::{
    JobErrorKind,
    middleware::{JobRequest, Next, from_fn},
};
use goqueue_middleware::{CatchPanicLayer, catch_panic::Panicked};

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_that_tells_its_place() {
    for (act, text) in [
        (Act::Panic, "panicked: the sky is falling ("),
        (Act::PanicLater, "panicked: a value ("),
    ] {
        let seen = run([act, Act::Succeed], |worker| {
            worker.layer(CatchPanicLayer::new())
        })
        .await;
        let errors: Vec<_> = seen.ends().into_iter().filter_map(|end| end.1).collect();
        assert_eq!(errors.len(), 2);
        for error in errors {
            assert!(error.starts_with(text), "{error}");
            assert!(error.contains("common/mod.rs:"), "{error}");
        }
        let counts = ["retried", "dead", "succeeded"].map(|outcome| seen.count(outcome));
        assert_eq!(counts, [1, 1, 1]);
    }
}

#[tokio::test(start_paused = true)]
async fn layers_outside_find_the_panic_and_its_backtrace() {
    let found = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&found);
    run([Act::PanicLater], |worker| {
        worker
            .layer(from_fn(move |request: JobRequest, next: Next| {
                let note = Arc::clone(&note);
                async move {
                    let answer = next.run(request).await;
                    if let Err(error) = &answer {
                        let panicked = error.downcast_ref::<Panicked>().unwrap();
                        note.lock().unwrap().push((
                            error.kind(),
                            panicked.message().to_owned(),
                            panicked.location().map(str::to_owned),
                            panicked.backtrace().map(ToString::to_string),
                        ));
                    }
                    answer
                }
            }))
            .layer(CatchPanicLayer::new())
    })
    .await;
    let found = found.lock().unwrap();
    let (kind, message, location, backtrace) = &found[0];
    assert_eq!((*kind, message.as_str()), (JobErrorKind::Retry, "a value"));
    assert!(location.as_ref().unwrap().contains("common/mod.rs:"));
    assert!(
        backtrace.as_ref().unwrap().contains("common::Act"),
        "{backtrace:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_a_layer_inside_is_caught_too() {
    let seen = run([Act::Succeed], |worker| {
        worker.layer(CatchPanicLayer::new()).layer(from_fn(
            |request: JobRequest, _: Next| async move {
                assert_ne!(request.name(), "act", "refused");
                Ok(())
            },
        ))
    })
    .await;
    let error = seen.ends()[0].1.clone().unwrap();
    assert!(
        error.contains("refused") && error.contains("catch_panic.rs:"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn answers_pass_unchanged() {
    let seen = run([Act::Discard], |worker| {
        worker.layer(CatchPanicLayer::new())
    })
    .await;
    assert_eq!(seen.count("discarded"), 1);
    assert_eq!(seen.ends()[0].1.as_deref(), Some("outdated"));
}
