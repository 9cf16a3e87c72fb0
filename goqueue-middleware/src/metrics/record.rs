use goqueue_core::{
    JobMetrics,
    telemetry::metric::{ATTEMPTS, DURATION, FINISHED, OUTCOME_LABEL, UNKNOWN, WAIT},
};
use metrics::{counter, histogram};

use super::labels;

/// Counts how a run ended, how long it took and how long its job had waited. For
/// [`WorkerBuilder::on_job_complete`](goqueue_core::WorkerBuilder::on_job_complete);
/// [`with_metrics`](super::with_metrics) adds it.
pub fn record(run: &JobMetrics) {
    let name = run.name.as_deref().filter(|_| run.has_handler);
    let name = name.unwrap_or(UNKNOWN);
    let labels = labels(run.queue.as_str(), name);
    histogram!(DURATION, &labels).record(run.duration);
    histogram!(WAIT, &labels).record(run.wait);
    if run.outcome.is_final() {
        histogram!(ATTEMPTS, &labels).record(run.attempt);
    }
    let [queue, name] = labels;
    let labels = [queue, name, (OUTCOME_LABEL, run.outcome.as_str().into())];
    counter!(FINISHED, &labels).increment(1);
}
