use std::{sync::Arc, time::Duration};

use super::shared::Shared;
use crate::retry::TransientBackoff;

/// The shortest pause between two passes, so that a driver that always asks for more cannot make
/// the worker spin.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// Runs the driver's promotion, recovery and retention when it asks for it.
pub(super) async fn run(shared: Arc<Shared>) {
    let queues = shared.settings.queue_names();
    let mut backoff = TransientBackoff::new();
    loop {
        let pause = match shared.driver().maintain(&queues).await {
            Ok(done) => {
                backoff.reset();
                tracing::trace!(?done, "upkeep");
                done.next.max(SHORTEST_PAUSE)
            }
            Err(error) => {
                tracing::debug!(%error, "upkeep failed; trying again");
                backoff.next_pause()
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = shared.stop.cancelled() => return,
        }
    }
}
