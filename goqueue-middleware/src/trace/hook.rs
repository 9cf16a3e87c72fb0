use goqueue_core::{
    BoxError, EnqueueHook,
    queue::IncomingJob,
    telemetry::{field, span},
};

/// Opens a tracing span for every job that is enqueued through a queue handle, for
/// [`Queue::with_hook`](goqueue_core::Queue::with_hook). See the [module](super) for what is in it.
///
/// With the feature `opentelemetry` it also gives the job the headers `traceparent` and
/// `tracestate` of that span, so that the job's own span can go on from there. Headers that the
/// caller set are kept.
///
/// Add it last, so that jobs which another hook refuses leave no span.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct TraceHook {}

impl TraceHook {
    /// The hook.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl EnqueueHook for TraceHook {
    fn before(&self, job: &mut IncomingJob) -> Result<(), BoxError> {
        let span = tracing::info_span!(
            span::ENQUEUE,
            { field::OPERATION } = "enqueue",
            { field::OPERATION_TYPE } = "create",
            { field::ID } = %job.id(),
            { field::QUEUE } = job.queue().as_str(),
            { field::SYSTEM } = job.driver(),
            { field::NAME } = job.name(),
            otel.name = super::otel_name("enqueue", job.queue().as_str()),
            otel.kind = super::otel_kind("producer"),
        );
        #[cfg(feature = "opentelemetry")]
        super::otel::inject(&span, job.headers_mut());
        drop(span);
        Ok(())
    }
}
