use std::time::Duration;

use goqueue_core::{QueueName, driver::Maintenance};

use crate::driver::Inner;

/// SQS promotes, recovers and purges by itself, so there is never anything to do.
const PAUSE: Duration = Duration::from_secs(60);

impl Inner {
    #[expect(clippy::unused_self, reason = "the shape that every driver has")]
    pub(crate) fn maintain(&self, _: &[QueueName]) -> Maintenance {
        Maintenance {
            next: PAUSE,
            ..Maintenance::default()
        }
    }
}
