use std::time::Duration;

use super::Lease;
use crate::dead_letter::DeadReason;

/// The end of one delivery.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// The delivery.
    pub lease: Lease,
    /// What becomes of the job.
    pub verdict: Verdict,
}

/// What becomes of a job whose delivery ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Done: forget it.
    Ack,
    /// It failed and is due again after `delay`.
    Retry {
        /// Until it is due, by the backend's clock.
        delay: Duration,
        /// Why it failed.
        error: String,
    },
    /// It did not fail: it is due again after `delay`, in front of its queue when that is zero, and
    /// its attempt is given back where the backend can
    /// ([`release_without_attempt`](super::Capabilities::release_without_attempt)).
    Release {
        /// Until it is due, by the backend's clock.
        delay: Duration,
    },
    /// Move it to the dead letters.
    Dead {
        /// What kind of end it was.
        reason: DeadReason,
        /// The last error.
        error: String,
    },
}

/// Whether a lease still held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// It did, and the call took effect.
    Done,
    /// It did not, and nothing was changed.
    Lost,
}
