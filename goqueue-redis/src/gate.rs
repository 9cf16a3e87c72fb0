use goqueue_core::{Error, Result};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use crate::driver::NAME;

/// Lets calls in until it is closed, and knows when the last one has left.
#[derive(Debug)]
pub(crate) struct Gate {
    closed: CancellationToken,
    inside: TaskTracker,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self {
            closed: CancellationToken::new(),
            inside: TaskTracker::new(),
        }
    }

    /// A pass to be kept for as long as the call takes.
    pub(crate) fn enter(&self) -> Result<TaskTrackerToken> {
        // Before the look at the gate, so that whoever closes it waits for this call or refuses it.
        let pass = self.inside.token();
        if self.closed.is_cancelled() {
            return Err(Error::Closed { driver: NAME });
        }
        Ok(pass)
    }

    /// Fires when the gate closes.
    pub(crate) fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// Closes the gate and waits until everybody has left.
    pub(crate) async fn close(&self) {
        self.closed.cancel();
        self.inside.close();
        self.inside.wait().await;
    }
}
