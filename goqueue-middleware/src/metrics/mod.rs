//! Counters, gauges and histograms through the `metrics` facade.
//!
//! Any recorder takes them, such as that of `metrics-exporter-prometheus`. Install it before the
//! worker runs. Names are constants of [`goqueue_core::telemetry::metric`]; durations are in
//! seconds.
//!
//! | name | kind | labels | from |
//! | --- | --- | --- | --- |
//! | `goqueue_jobs_enqueued_total` | counter | `queue`, `name` | [`MetricsHook`] |
//! | `goqueue_jobs_duplicate_total` | counter | `queue`, `name` | [`MetricsHook`] |
//! | `goqueue_enqueue_errors_total` | counter | `queue`, `name` | [`MetricsHook`] |
//! | `goqueue_jobs_started_total` | counter | `queue`, `name` | [`MetricsLayer`] |
//! | `goqueue_jobs_in_flight` | gauge | `queue`, `name` | [`MetricsLayer`] |
//! | `goqueue_jobs_finished_total` | counter | `queue`, `name`, `outcome` | [`record`] |
//! | `goqueue_job_duration_seconds` | histogram | `queue`, `name` | [`record`] |
//! | `goqueue_job_wait_seconds` | histogram | `queue`, `name` | [`record`] |
//! | `goqueue_job_attempts` | histogram | `queue`, `name` | [`record`] |
//! | `goqueue_queue_depth` | gauge | `queue`, `state` | [`Sampler`] |
//! | `goqueue_queue_oldest_age_seconds` | gauge | `queue` | [`Sampler`] |
//! | `goqueue_queue_sample_errors_total` | counter | | [`Sampler`] |
//! | `goqueue_worker_saturation` | gauge | | [`Sampler::worker`] |
//! | `goqueue_worker_reserve_seconds` | gauge | | [`Sampler::worker`] |
//! | `goqueue_worker_settle_seconds` | gauge | | [`Sampler::worker`] |
//! | `goqueue_log_messages_total` | counter | `topic`, `group`, `partition`, `event` | [`LogMetrics`] |
//! | `goqueue_log_lag` | gauge | `topic`, `group`, `partition` | [`LogMetrics`] |
//! | `goqueue_log_age_seconds` | gauge | `topic`, `group`, `partition` | [`LogMetrics`] |
//! | `goqueue_log_store_seconds` | histogram | `store`, `operation`, `outcome` | [`LogMetrics`] |
//!
//! The name of a run is `unknown` when its worker has no handler for it, or its bytes could not be
//! read: so there are no more names than job types, whatever is enqueued.
//!
//! How a run ended is counted once the backend has confirmed it, which a layer does not learn. So
//! the layer and the callback go together: [`with_metrics`] adds both.

mod describe;
mod hook;
mod layer;
mod log;
mod record;
mod sampler;

use std::future::Future;

use goqueue_core::{
    JobResult, WorkerBuilder,
    middleware::JobRequest,
    telemetry::metric::{IN_FLIGHT, NAME_LABEL, QUEUE_LABEL, STARTED, UNKNOWN},
};
use metrics::{Gauge, counter, gauge};

pub use describe::describe;
pub use hook::MetricsHook;
pub use layer::MetricsLayer;
pub use log::LogMetrics;
pub use record::record;
pub use sampler::Sampler;

use crate::service::{Answer, answer, service};

/// Has every run of the worker measured: adds [`MetricsLayer`], and [`record`] as a callback.
#[must_use = "a worker is made by `build`"]
pub fn with_metrics(builder: WorkerBuilder) -> WorkerBuilder {
    builder.layer(MetricsLayer::new()).on_job_complete(record)
}

service!(MetricsLayer makes Metrics);

impl MetricsLayer {
    fn around<F>(&self, request: JobRequest, run: impl FnOnce(JobRequest) -> F) -> Answer
    where
        F: Future<Output = JobResult> + Send + 'static,
    {
        let name = if request.context().has_handler() {
            request.name()
        } else {
            UNKNOWN
        };
        let labels = labels(request.queue(), name);
        counter!(STARTED, &labels).increment(1);
        let running = InFlight::start(gauge!(IN_FLIGHT, &labels));
        let work = run(request);
        answer(async move {
            let _running = running;
            work.await
        })
    }
}

/// The labels that most metrics have.
type Labels = [(&'static str, String); 2];

fn labels(queue: &str, name: &str) -> Labels {
    [
        (QUEUE_LABEL, queue.to_owned()),
        (NAME_LABEL, name.to_owned()),
    ]
}

/// A job that runs, whatever way it ends.
struct InFlight(Gauge);

impl InFlight {
    fn start(gauge: Gauge) -> Self {
        gauge.increment(1.0);
        Self(gauge)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}
