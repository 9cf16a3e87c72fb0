use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use crate::error::{Error, Result};

/// Lets calls in until it is closed, and knows when the last one has left: what a driver needs for
/// [`close`](super::Driver::close).
#[derive(Debug)]
pub struct Gate {
    driver: &'static str,
    closed: CancellationToken,
    inside: TaskTracker,
}

impl Gate {
    /// An open gate of the driver with this name.
    #[must_use]
    pub fn new(driver: &'static str) -> Self {
        Self {
            driver,
            closed: CancellationToken::new(),
            inside: TaskTracker::new(),
        }
    }

    /// A pass to be kept for as long as the call takes.
    ///
    /// # Errors
    /// [`Error::Closed`] once the gate is closed.
    pub fn enter(&self) -> Result<TaskTrackerToken> {
        // Before the look at the gate, so that whoever closes it waits for this call or refuses it.
        let pass = self.inside.token();
        if self.closed.is_cancelled() {
            return Err(Error::Closed {
                driver: self.driver,
            });
        }
        Ok(pass)
    }

    /// Fires when the gate closes.
    #[must_use]
    pub fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// Closes the gate and waits until everybody has left.
    pub async fn close(&self) {
        self.closed.cancel();
        self.inside.close();
        self.inside.wait().await;
    }
}
