/// Opens a tracing span for every run of every job. See the [module](super) for what is in it.
///
/// It belongs outermost: what the other layers log is then part of the job's span, and what they
/// answer is the outcome that is recorded.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceLayer {
    #[cfg(feature = "opentelemetry")]
    pub(super) links: bool,
}

impl TraceLayer {
    /// The layer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a trace of its own with each run and links it to the enqueuer's, instead of going on
    /// with that. Better for jobs that run long after their enqueueing, and for one enqueuer of very
    /// many jobs, whose trace would become too long to read.
    #[cfg(feature = "opentelemetry")]
    #[must_use]
    pub fn linked(mut self) -> Self {
        self.links = true;
        self
    }
}
