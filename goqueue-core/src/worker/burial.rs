use std::{panic::AssertUnwindSafe, time::SystemTime};

use futures_util::FutureExt;
use tokio::time::sleep;

use super::{running::RunningJob, shared::Shared};
use crate::{
    dead_letter::{DeadLetter, DeadLetterMode, DeadLetters, DeadReason},
    driver::Reserved,
    job::name_in,
    retry::TransientBackoff,
    telemetry::unix_millis,
};

/// Who takes a dead job.
pub(super) enum Burial {
    /// The driver, together with the settlement.
    ByDriver,
    /// It is taken care of: the job can be acked.
    Done,
    /// The sink did not take it before the job had to stop.
    Interrupted,
}

/// Brings a dead job where the worker's settings want it. A sink that fails is tried again while
/// the job's lease is kept, so the job cannot be lost between the two.
pub(super) async fn bury(
    shared: &Shared,
    running: &RunningJob,
    reserved: &Reserved,
    reason: DeadReason,
    error: &str,
) -> Burial {
    let lease = running.lease();
    let name = name_in(&reserved.body);
    if shared.settings.dead_letter == DeadLetterMode::Discard {
        tracing::warn!(
            job = %lease.id, name = name.as_deref(), queue = %lease.queue, %reason, error,
            "dead job discarded, as dead_letter.mode says"
        );
        return Burial::Done;
    }
    tracing::warn!(
        job = %lease.id, name = name.as_deref(), queue = %lease.queue, %reason, error, "job is dead"
    );
    let Some(sink) = &shared.sink else {
        return Burial::ByDriver;
    };
    let letter = DeadLetter {
        id: lease.id,
        name: name.map(Into::into),
        queue: lease.queue.clone(),
        reason,
        error: error.into(),
        attempts: running.attempt(),
        died_at: unix_millis(SystemTime::now()),
        body: reserved.body.clone(),
    };
    tokio::select! {
        biased;
        () = store(&**sink, letter) => Burial::Done,
        () = running.token().cancelled() => Burial::Interrupted,
        () = shared.abort.cancelled() => Burial::Interrupted,
    }
}

async fn store(sink: &dyn DeadLetters, letter: DeadLetter) {
    let mut backoff = TransientBackoff::new();
    loop {
        let stored = AssertUnwindSafe(async { sink.store(letter.clone()).await });
        match stored.catch_unwind().await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => {
                tracing::warn!(job = %letter.id, %error, "the dead-letter sink failed; trying again");
            }
            Err(_) => {
                tracing::error!(job = %letter.id, "the dead-letter sink panicked; trying again");
            }
        }
        sleep(backoff.next_pause()).await;
    }
}
