use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use goqueue_core::{JobMetrics, Queue, Report, Result, Worker, WorkerBuilder, WorkerHandle};
use tokio::{
    task::JoinHandle,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{Probe, Records};
use crate::{check::promise, harness::Timing};

/// A worker at work. Dropping it aborts the worker.
#[derive(Debug)]
pub(crate) struct Crew {
    pub(crate) handle: WorkerHandle,
    signal: CancellationToken,
    task: JoinHandle<Result<Report>>,
    metrics: Arc<Mutex<Vec<JobMetrics>>>,
}

impl Crew {
    /// Starts a worker of [`Probe`]s that notes its runs in `records`.
    pub(crate) fn start(
        queue: &Queue,
        records: &Records,
        timing: Timing,
        set: impl FnOnce(WorkerBuilder) -> WorkerBuilder,
    ) -> Self {
        let metrics = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&metrics);
        let builder = Worker::builder(queue)
            .only_registered()
            .register::<Probe>()
            .state(records.clone())
            .concurrency(4)
            .lease(timing.lease)
            .shutdown_grace(timing.lease)
            .on_job_complete(move |metrics| {
                seen.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(metrics.clone());
            });
        let worker = set(builder)
            .build()
            .expect("the settings of a case are valid");
        let (handle, signal) = (worker.handle(), CancellationToken::new());
        let task = tokio::spawn(worker.run_until(signal.clone().cancelled_owned()));
        Self {
            handle,
            signal,
            task,
            metrics,
        }
    }

    /// What the worker reported of its runs so far.
    pub(crate) fn metrics(&self) -> Vec<JobMetrics> {
        self.metrics
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits until the worker has reported this many runs.
    pub(crate) async fn reported(&self, count: usize, within: Duration) -> Vec<JobMetrics> {
        let start = Instant::now();
        loop {
            let metrics = self.metrics();
            if metrics.len() >= count {
                return metrics;
            }
            promise!(
                start.elapsed() <= within,
                "within {within:?}, the worker has reported the end of {count} runs";
                "it reported {metrics:?}"
            );
            tokio::time::sleep(within / 100).await;
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        !self.task.is_finished()
    }

    /// Gives the signal to stop, without waiting.
    pub(crate) fn signal(&self) {
        self.signal.cancel();
    }

    /// Gives the signal to stop and waits for the end, at most so long.
    pub(crate) async fn stop(mut self, within: Duration) -> Report {
        self.signal();
        self.end(within).await
    }

    /// Waits for the end, at most so long.
    pub(crate) async fn end(&mut self, within: Duration) -> Report {
        match timeout(within, &mut self.task).await {
            Ok(Ok(Ok(report))) => report,
            Ok(Ok(Err(error))) => {
                panic!("expected: a stopped worker returns its report\nhappened: {error}")
            }
            Ok(Err(error)) => panic!("expected: nothing ends a worker\nhappened: {error}"),
            Err(_) => panic!(
                "expected: the worker stops within {within:?}\nhappened: it still runs; {:?}",
                self.handle.stats()
            ),
        }
    }

    /// Waits for the end, whatever it is, at most so long.
    pub(crate) async fn outcome(mut self, within: Duration) -> Option<Result<Report>> {
        timeout(within, &mut self.task).await.ok()?.ok()
    }

    /// Drops the future the worker runs in, as the end of its process would.
    pub(crate) async fn vanish(mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.handle.abort();
    }
}
