/// Counts runs that start and those under way. How they end is counted by
/// [`record`](super::record); [`with_metrics`](super::with_metrics) adds both.
///
/// It belongs outside, so that it counts every run.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct MetricsLayer {}

impl MetricsLayer {
    /// The layer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}
