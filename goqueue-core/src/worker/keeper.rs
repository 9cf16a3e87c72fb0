use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{
    running::{RunningJob, StopReason},
    shared::Shared,
};
use crate::driver::{Lease, LeaseOutcome};

/// Extends the leases of what is running, and stops jobs whose lease is lost.
pub(super) async fn run(shared: Arc<Shared>) {
    tokio::select! {
        () = keep(&shared) => {}
        () = watch(&shared) => {}
        () = shared.aborted() => {}
    }
}

/// Extends each lease by the time half of it is used. An extension that failed is tried again after
/// a tenth of it, so several may fail before it ends.
async fn keep(shared: &Shared) {
    let lease = shared.settings.lease;
    let mut pause = lease / 4;
    loop {
        sleep(pause).await;
        let is_extended = extend_due(shared, lease).await;
        pause = if is_extended { lease / 4 } else { lease / 10 };
    }
}

/// Stops a job the moment its lease ends, even if the backend never said so: from then on another
/// worker may have it. Apart from [`keep`], so that an extension that hangs cannot hide it.
async fn watch(shared: &Shared) {
    loop {
        let later = Instant::now() + shared.settings.lease / 4;
        let ends = shared
            .running
            .first_end()
            .map_or(later, |end| end.min(later));
        sleep_until(ends).await;
        let now = Instant::now();
        for job in shared.running.matching(|job| job.good_until() <= now) {
            lose(&job);
        }
    }
}

/// Answers whether every lease that had to be extended was answered for.
async fn extend_due(shared: &Shared, lease: Duration) -> bool {
    let now = Instant::now();
    let due = shared.running.matching(|job| {
        job.good_until().saturating_duration_since(now) <= lease * 3 / 4
            && job.stop_reason().is_none()
    });
    if due.is_empty() {
        return true;
    }
    let leases: Vec<Lease> = due.iter().map(|job| job.lease().clone()).collect();
    let (count, answer) = (leases.len(), shared.driver().extend(leases, lease));
    // A call that hangs must not keep the others from being noticed as lost.
    match timeout(lease / 4, answer).await {
        Ok(Ok(outcomes)) => {
            debug_assert_eq!(outcomes.len(), count);
            for (job, outcome) in due.iter().zip(outcomes) {
                match outcome {
                    LeaseOutcome::Done => job.extended_to(now + lease),
                    LeaseOutcome::Lost => lose(job),
                }
            }
            true
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, leases = count, "leases could not be extended");
            false
        }
        Err(_) => {
            tracing::warn!(leases = count, "no answer to the extension of leases");
            false
        }
    }
}

fn lose(job: &RunningJob) {
    if job.stop_reason() != Some(StopReason::LeaseLost) {
        tracing::warn!(job = %job.lease().id, queue = %job.lease().queue, "lease lost");
        job.stop(StopReason::LeaseLost);
    }
}
