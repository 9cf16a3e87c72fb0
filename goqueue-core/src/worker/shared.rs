use std::{fmt, sync::Arc};

use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Report, health::HealthCell, running::RunningSet, settings::Settings, settler::Settlements,
    signal::second_signal, slots::Slots, stats::StatsCell,
};
use crate::{
    context::StateMap, dead_letter::DeadLetters, driver::Driver, middleware::JobService,
    queue::Queue, telemetry::JobMetrics,
};

/// Called with the metrics of every run whose end the backend confirmed.
pub(super) type OnComplete = Box<dyn Fn(&JobMetrics) + Send + Sync>;

/// What the tasks of one worker have in common.
pub(super) struct Shared {
    pub(super) queue: Queue,
    pub(super) settings: Settings,
    pub(super) service: JobService,
    /// Sorted.
    pub(super) job_names: Vec<&'static str>,
    pub(super) state: Arc<StateMap>,
    pub(super) sink: Option<Arc<dyn DeadLetters>>,
    pub(super) on_complete: Vec<OnComplete>,
    pub(super) slots: Slots,
    pub(super) running: RunningSet,
    pub(super) tasks: TaskTracker,
    pub(super) settlements: Settlements,
    pub(super) stats: StatsCell,
    pub(super) health: HealthCell,
    /// Tells when reserving works again after it has failed.
    pub(super) reached: watch::Sender<()>,
    /// Reserve nothing more.
    pub(super) stop: CancellationToken,
    /// Wait for nothing more.
    pub(super) abort: CancellationToken,
}

impl Shared {
    pub(super) fn driver(&self) -> &dyn Driver {
        &**self.queue.driver()
    }

    pub(super) fn has_handler(&self, name: &str) -> bool {
        self.job_names.binary_search(&name).is_ok()
    }

    /// Waits until nothing more is to be waited for. A second signal counts only while stopping.
    pub(super) async fn aborted(&self) {
        let second = async {
            self.stop.cancelled().await;
            second_signal().await;
        };
        tokio::select! {
            () = self.abort.cancelled() => {}
            () = second => self.abort.cancel(),
        }
    }

    /// Says what the worker is about to do, so that a missing job type shows in the log.
    pub(super) fn announce(&self) {
        let queues: Vec<_> = self
            .settings
            .queues
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        tracing::info!(
            driver = self.queue.capabilities().driver,
            jobs = ?self.job_names,
            ?queues,
            concurrency = self.settings.concurrency,
            "worker started"
        );
        if !self.queue.capabilities().durable {
            tracing::info!("this driver keeps jobs in memory only: they are lost with the process");
        }
    }

    pub(super) fn report(&self) -> Report {
        let abandoned = self.running.len() as u64;
        let stats = self.stats.read(abandoned);
        Report {
            finished: stats.finished(),
            released: stats.released,
            abandoned,
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("settings", &self.settings)
            .field("jobs", &self.job_names)
            .finish_non_exhaustive()
    }
}
