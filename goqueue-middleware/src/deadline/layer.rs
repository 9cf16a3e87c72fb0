/// Keeps a job from running when the time in its header [`EXPIRES_AT`](super::EXPIRES_AT) has
/// passed, by this worker's clock. It is logged at level `WARN` and discarded, or goes to the dead
/// letters. A header that cannot be read sends the job to the dead letters.
///
/// A job that has started is not stopped: that is what a timeout does. One that fails runs again only
/// while its time lasts.
///
/// It belongs outside of everything that limits, and inside of what observes.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeadlineLayer {
    pub(super) keeps: bool,
}

impl DeadlineLayer {
    /// The layer; expired jobs are discarded.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends expired jobs to the dead letters.
    #[must_use]
    pub fn dead_letter(mut self) -> Self {
        self.keeps = true;
        self
    }
}
