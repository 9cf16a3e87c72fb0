use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    sync::mpsc,
    task::yield_now,
    time::{Instant, sleep, sleep_until},
};

use super::{fetcher::GATHER, running::RunningJob, shared::Shared, verdict::Decision};
use crate::{
    driver::{LeaseOutcome, Settlement},
    error::Error,
    retry::TransientBackoff,
    telemetry::{JobMetrics, JobOutcome},
};

/// The most verdicts in one call.
const MAX_GROUP: usize = 512;

/// The end of one run, on its way to the backend.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) running: Arc<RunningJob>,
    pub(super) decision: Decision,
    /// What to report once the end is confirmed. Not made when nobody listens.
    pub(super) metrics: Option<JobMetrics>,
}

impl Settled {
    /// The end of a job that was never started.
    pub(super) fn unstarted(running: Arc<RunningJob>, decision: Decision) -> Self {
        Self {
            running,
            decision,
            metrics: None,
        }
    }
}

/// Where executors leave the ends of their runs.
#[derive(Debug)]
pub(super) struct Settlements(Mutex<Option<mpsc::Sender<Settled>>>);

impl Settlements {
    /// Hands one over; waits while the settler is far behind, which keeps the job's slot taken.
    pub(super) async fn send(&self, settled: Settled) {
        let sender = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(sender) = sender {
            // The settler only goes when the worker is aborted; then the lease has to run out.
            let _ = sender.send(settled).await;
        }
    }

    /// Lets the settler end once it has written down what is there.
    pub(super) fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Writes the ends of runs down. Groups form by themselves: while one call is under way the next
/// group gathers, and a lone job never waits for company.
#[derive(Debug)]
pub(super) struct Settler(mpsc::Receiver<Settled>);

impl Settler {
    pub(super) fn new(concurrency: usize) -> (Settlements, Self) {
        let (sender, receiver) = mpsc::channel(concurrency.clamp(64, 4096));
        (Settlements(Mutex::new(Some(sender))), Self(receiver))
    }

    pub(super) async fn run(mut self, shared: Arc<Shared>) {
        let mut group = Vec::new();
        let full_call = shared.queue.capabilities().batch.full_call;
        while self.0.recv_many(&mut group, MAX_GROUP).await > 0 {
            // What ends at the same time is written down together.
            yield_now().await;
            if !self.0.is_empty() {
                self.0.recv_many(&mut group, MAX_GROUP).await;
            }
            if full_call > 1 {
                self.gather(&shared, &mut group, full_call).await;
            }
            tokio::select! {
                biased;
                () = settle(&shared, &mut group) => {}
                () = shared.aborted() => return,
            }
        }
    }
}

impl Settler {
    /// Where a call has its price, waits a moment for more ends of what is running, until they fill
    /// whole calls. A lone job has nothing to wait for, and a worker that stops does not wait.
    async fn gather(&mut self, shared: &Shared, group: &mut Vec<Settled>, full_call: usize) {
        let until = Instant::now() + GATHER;
        while !group.len().is_multiple_of(full_call)
            && group.len() < shared.running.len()
            && group.len() < MAX_GROUP
        {
            tokio::select! {
                biased;
                () = shared.stop.cancelled() => return,
                () = sleep_until(until) => return,
                more = self.0.recv_many(group, MAX_GROUP) => if more == 0 { return },
            }
        }
    }
}

/// Settles one group, for as long as it takes.
async fn settle(shared: &Shared, group: &mut Vec<Settled>) {
    let mut backoff = TransientBackoff::new();
    let mut reached = shared.reached.subscribe();
    let mut is_repeated = false;
    loop {
        let settlements = group
            .iter()
            .map(|settled| Settlement {
                lease: settled.running.lease().clone(),
                verdict: settled.decision.verdict.clone(),
            })
            .collect();
        let asked = Instant::now();
        match shared.driver().settle(settlements).await {
            Ok(outcomes) => {
                shared.stats.settle.note(asked.elapsed());
                for (settled, outcome) in group.drain(..).zip(outcomes) {
                    confirm(shared, settled, outcome, is_repeated);
                }
                return;
            }
            Err(error) if error.is_transient() => {
                shared.health.bad(&error);
                is_repeated = true;
                tokio::select! {
                    () = sleep(backoff.next_pause()) => {}
                    // The sender lives as long as the worker.
                    _ = reached.changed() => backoff.reset(),
                }
            }
            Err(error) if group.len() > 1 => {
                // One settlement that the backend will not take must not cost the others theirs.
                tracing::debug!(%error, "settling one by one");
                for settled in std::mem::take(group) {
                    Box::pin(settle(shared, &mut vec![settled])).await;
                }
                return;
            }
            Err(error) => {
                give_up(shared, group, &error);
                return;
            }
        }
    }
}

fn confirm(shared: &Shared, mut settled: Settled, outcome: LeaseOutcome, is_repeated: bool) {
    // When an earlier try of the same call lost its answer, it may well have acted: a lease that
    // was still good is then gone because this worker ended it.
    let by_ourselves = is_repeated && Instant::now() < settled.running.good_until();
    if outcome == LeaseOutcome::Lost && !by_ourselves {
        let lease = settled.running.lease();
        tracing::warn!(job = %lease.id, queue = %lease.queue, "the end of a run came too late");
        settled.decision.outcome = JobOutcome::LeaseLost;
    }
    finish(shared, settled);
}

/// A settlement that the backend will never take: the leases run out and the jobs run again.
fn give_up(shared: &Shared, group: &mut Vec<Settled>, error: &Error) {
    for mut settled in group.drain(..) {
        let lease = settled.running.lease();
        tracing::error!(%error, job = %lease.id, queue = %lease.queue, "a run could not be settled");
        settled.decision.outcome = JobOutcome::LeaseLost;
        finish(shared, settled);
    }
}

/// Counts and reports a run that is over.
pub(super) fn finish(shared: &Shared, settled: Settled) {
    let outcome = settled.decision.outcome;
    shared.stats.count(outcome);
    if let Some(mut metrics) = settled.metrics {
        metrics.outcome = outcome;
        for on_complete in &shared.on_complete {
            if catch_unwind(AssertUnwindSafe(|| on_complete(&metrics))).is_err() {
                tracing::error!(job = %metrics.id, "a job-complete callback panicked");
            }
        }
    }
    // Last, so that a drained worker has reported everything.
    shared.running.remove(&settled.running);
}
