use std::{sync::Arc, time::Duration};

use tokio::{task::yield_now, time::Instant};

use super::{
    executor, schedule::Schedule, settler::Settled, shared::Shared, slots::FreeSlots,
    verdict::Decision,
};
use crate::{
    driver::{ReserveRequest, Reserved},
    error::{Error, Result},
    retry::TransientBackoff,
};

/// How long one reservation waits for a job at the most, and as a part of a lease. How often an idle
/// worker asks again depends on it, and how much of a lease is left at least when a job comes in:
/// leases count from the question.
const WAIT: Duration = Duration::from_secs(20);
const WAIT_OF_LEASE: u32 = 4;

/// How long slots are gathered for a call that has its price, while there is a backlog.
pub(super) const GATHER: Duration = Duration::from_millis(100);

/// When to stop reserving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// On the signal.
    Serve,
    /// When nothing is due and nothing runs.
    Drain,
}

/// Reserves as many jobs as there are free slots, and starts them.
pub(super) async fn run(shared: Arc<Shared>, mode: Mode) -> Result<()> {
    let mut schedule = Schedule::new(&shared.settings.queues, shared.settings.strict);
    let mut backoff = TransientBackoff::new();
    let full_call = shared.queue.capabilities().batch.full_call;
    let enough = full_call.min(shared.settings.concurrency);
    let mut has_backlog = false;
    let mut has_failed = false;
    loop {
        let mut slots = tokio::select! {
            biased;
            () = shared.stop.cancelled() => return Ok(()),
            slots = shared.slots.take_free() => slots,
        };
        if has_backlog && full_call > 1 {
            slots.gather(enough, GATHER).await;
        }
        shared.stats.load.now(false);
        // Asked before the reservation: what ends during it may have enqueued another job.
        let was_idle = mode == Mode::Drain && shared.running.is_empty();
        let request = ReserveRequest {
            queues: schedule.shares(slots.len()),
            max: slots.len(),
            lease: shared.settings.lease,
            // After a failure it has to show soon whether the backend is there again.
            wait: if mode == Mode::Drain || has_failed {
                Duration::ZERO
            } else {
                WAIT.min(shared.settings.lease / WAIT_OF_LEASE)
            },
            cancel: shared.stop.clone(),
        };
        let asked = Instant::now();
        match shared.driver().reserve(request).await {
            Ok(jobs) => {
                note(&shared, jobs.len(), slots.len(), asked);
                has_backlog = jobs.len() >= slots.len();
                shared.health.good();
                backoff.reset();
                // Only after a failure of its own: where reserving works and settling does not, the
                // settler keeps its pauses.
                if std::mem::take(&mut has_failed) {
                    shared.reached.send_replace(());
                }
                let is_empty = jobs.is_empty();
                start_all(&shared, jobs, slots, asked).await;
                if has_backlog {
                    // What ends at once does so now, and leaves room for a larger reservation.
                    yield_now().await;
                }
                if is_empty && mode == Mode::Drain {
                    if was_idle {
                        return Ok(());
                    }
                    shared.running.changed().await;
                }
            }
            Err(error) if must_end(&error, mode) => return Err(error),
            Err(error) => {
                drop(slots);
                has_failed = true;
                shared.health.bad(&error);
                tokio::select! {
                    () = tokio::time::sleep(backoff.next_pause()) => {}
                    () = shared.stop.cancelled() => return Ok(()),
                }
            }
        }
    }
}

/// Takes down what a reservation tells about the worker's load.
fn note(shared: &Shared, taken: usize, asked_for: usize, asked: Instant) {
    if taken < asked_for {
        return;
    }
    if asked_for == 1 {
        // It may have waited for its job.
        shared.stats.load.now(true);
    } else {
        shared.stats.load.was_full();
        shared.stats.reserve.note(asked.elapsed());
    }
}

fn must_end(error: &Error, mode: Mode) -> bool {
    error.is_fatal() || mode == Mode::Drain
}

/// Starts what was reserved, each in its slot. When the worker stops meanwhile, or was held up for so
/// long that others may have the jobs by now, nothing is started and everything is given back.
async fn start_all(
    shared: &Arc<Shared>,
    jobs: Vec<Reserved>,
    mut slots: FreeSlots,
    asked: Instant,
) {
    let is_late = asked.elapsed() >= shared.settings.lease;
    let is_given_back = shared.stop.is_cancelled() || is_late;
    for reserved in jobs {
        let running = shared.running.add(&reserved, asked);
        match slots.fill_one() {
            Some(slot) if !is_given_back => {
                shared
                    .tasks
                    .spawn(executor::run(Arc::clone(shared), running, reserved, slot));
            }
            // Also when the driver returned more than it was asked for.
            _ => {
                let release = Settled::unstarted(running, Decision::released());
                shared.settlements.send(release).await;
            }
        }
    }
}
