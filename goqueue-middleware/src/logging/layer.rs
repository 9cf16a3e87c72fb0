use std::time::Duration;

/// Writes a log line for every run that ends, through `tracing`. See the [module](super) for the
/// lines.
///
/// It belongs outside, just inside of [`TraceLayer`](crate::trace::TraceLayer) if there is one: then
/// its lines are in the job's span, and the answer they tell is the one that counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogLayer {
    pub(super) quiet_below: Duration,
}

impl LogLayer {
    /// The layer; every end is logged at level `INFO` or above.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Logs runs without a failure that take less than this at level `DEBUG`.
    #[must_use]
    pub fn quiet_below(mut self, time: Duration) -> Self {
        self.quiet_below = time;
        self
    }
}
