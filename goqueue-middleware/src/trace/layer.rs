use tower::Layer;

use super::Trace;

/// Opens a tracing span for every run of every job. See the [module](super) for what is in it.
///
/// It belongs outermost: what the other layers log is then part of the job's span, and what they
/// answer is the outcome that is recorded.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct TraceLayer {}

impl TraceLayer {
    /// The layer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<S> Layer<S> for TraceLayer {
    type Service = Trace<S>;

    fn layer(&self, inner: S) -> Trace<S> {
        Trace { inner }
    }
}
