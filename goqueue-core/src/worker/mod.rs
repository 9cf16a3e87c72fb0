//! Taking jobs, running them, and telling the backend what became of them.
//!
//! One worker is five kinds of task. The *fetcher* reserves as many jobs as there are free slots;
//! an *executor* task per job runs it and decides its verdict; the *settler* writes verdicts down in
//! groups; the *keeper* extends the leases of what is running; *upkeep* runs the driver's own
//! promotion and recovery. They share one state and no more.

mod builder;
mod burial;
mod executor;
mod fetcher;
mod handle;
mod health;
mod keeper;
mod latency;
mod load;
mod report;
mod running;
mod schedule;
mod settings;
mod settler;
mod shared;
mod signal;
mod slots;
mod stats;
mod upkeep;
mod verdict;

use std::{future::Future, sync::Arc, time::Duration};

use tokio::{
    task::JoinHandle,
    time::{Instant, sleep_until, timeout, timeout_at},
};

use crate::{error::Result, queue::Queue};

pub use builder::WorkerBuilder;
pub use handle::WorkerHandle;
pub use health::{Health, HealthStatus};
pub use latency::Latency;
pub use report::Report;
pub(crate) use running::RunningJob;
pub use signal::shutdown_signal;
pub use stats::{OVERLOADED, WorkerStats};

use fetcher::Mode;
use running::{StopReason, from_now};
use settler::Settler;
use shared::Shared;

/// How long a handler that was told to stop has to notice before its future is dropped.
pub const CANCEL_GRACE: Duration = Duration::from_millis(500);

/// How long a stopping worker waits for the backend to take the last settlements.
const SETTLE_GRACE: Duration = Duration::from_secs(5);

/// Runs jobs of one or more queues. Built by [`Worker::builder`].
///
/// Nothing but a configuration or schema error ends it: while the backend cannot be reached it keeps
/// trying with backoff and resumes on its own.
#[derive(Debug)]
pub struct Worker {
    shared: Arc<Shared>,
    settler: Settler,
}

impl Worker {
    /// A worker of this queue's backend, with the settings of its configuration.
    pub fn builder(queue: &Queue) -> WorkerBuilder {
        WorkerBuilder::new(queue.clone())
    }

    /// Steers and watches the worker from elsewhere. Taken before running it.
    #[must_use]
    pub fn handle(&self) -> WorkerHandle {
        WorkerHandle::new(Arc::clone(&self.shared))
    }

    /// Runs until [`WorkerHandle::shutdown`].
    ///
    /// # Errors
    /// As for [`run_until`](Worker::run_until).
    pub async fn run(self) -> Result<Report> {
        self.run_until(std::future::pending()).await
    }

    /// Runs until `signal` resolves, then shuts down gracefully.
    ///
    /// From the signal on nothing is reserved. Running jobs may go on for the shutdown grace; then
    /// they are cancelled, have [`CANCEL_GRACE`] to notice, and are given back unfinished, with
    /// their attempt where the backend can. With [`shutdown_signal`] a second signal aborts:
    /// nothing more is waited for, and what was running is recovered when its lease ends.
    ///
    /// Dropping the returned future aborts too.
    ///
    /// # Errors
    /// An error that no retry can mend, such as a schema that does not fit. Running jobs are given
    /// their grace first.
    pub async fn run_until(self, signal: impl Future<Output = ()> + Send) -> Result<Report> {
        self.supervise(Mode::Serve, signal).await
    }

    /// Runs every job that is due, and those they enqueue, and returns when none is left. Jobs due
    /// later stay where they are. For tests and one-off commands.
    ///
    /// # Errors
    /// As for [`run_until`](Worker::run_until), and a transient one as well: a drain that cannot
    /// reach the backend has not drained.
    pub async fn drain(self) -> Result<Report> {
        self.supervise(Mode::Drain, std::future::pending()).await
    }

    async fn supervise(self, mode: Mode, signal: impl Future<Output = ()>) -> Result<Report> {
        let Self { shared, settler } = self;
        let _abort_on_drop = shared.abort.clone().drop_guard();
        shared.announce();

        let settler = tokio::spawn(settler.run(Arc::clone(&shared)));
        let keeper = tokio::spawn(keeper::run(Arc::clone(&shared)));
        let upkeep = tokio::spawn(upkeep::run(Arc::clone(&shared)));
        let mut fetcher = tokio::spawn(fetcher::run(Arc::clone(&shared), mode));

        let fetched = tokio::select! {
            ended = &mut fetcher => Some(ended),
            () = signal => None,
            () = shared.stop.cancelled() => None,
        };
        shared.stop.cancel();
        let grace_ends = from_now(shared.settings.shutdown_grace);
        let fetched = match fetched {
            Some(ended) => ended,
            None => tokio::select! {
                ended = &mut fetcher => ended,
                // What a reservation that hangs may have taken is recovered when its lease ends.
                () = sleep_until(grace_ends) => Ok(Ok(())),
                () = shared.aborted() => Ok(Ok(())),
            },
        };

        wind_down(&shared, settler, grace_ends).await;
        keeper.abort();
        upkeep.abort();
        fetcher.abort();
        // A worker that takes no more jobs is not short of room.
        shared.stats.load.now(false);
        let report = shared.report();
        tracing::info!(
            finished = report.finished,
            released = report.released,
            abandoned = report.abandoned,
            "worker stopped"
        );
        match fetched {
            Ok(Ok(())) => Ok(report),
            Ok(Err(error)) => {
                tracing::error!(%error, "worker stopped by an error that no retry can mend");
                Err(error)
            }
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }
}

/// Lets running jobs end, cancels what does not, and has every end written down. Bounded by the
/// grace periods whatever handlers and backend do.
async fn wind_down(shared: &Shared, settler: JoinHandle<()>, grace_ends: Instant) {
    shared.tasks.close();
    tokio::select! {
        _ = timeout_at(grace_ends, shared.tasks.wait()) => {}
        () = shared.aborted() => {}
    }
    if !shared.tasks.is_empty() {
        shared.running.stop_all(StopReason::Shutdown);
        // Twice the grace: a handler may use all of it, and its verdict has to be handed over.
        tokio::select! {
            _ = timeout(CANCEL_GRACE * 2, shared.tasks.wait()) => {}
            () = shared.aborted() => {}
        }
    }
    shared.settlements.close();
    tokio::select! {
        _ = timeout(SETTLE_GRACE, settler) => {}
        () = shared.aborted() => {}
    }
}
