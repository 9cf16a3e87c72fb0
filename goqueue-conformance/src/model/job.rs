use std::time::Duration;

use bytes::Bytes;
use goqueue_core::{
    QueueName,
    dead_letter::DeadReason,
    driver::{JobState, UniqueKey},
};

/// A live job.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) queue: QueueName,
    pub(super) body: Bytes,
    pub(super) ordering_key: Option<String>,
    pub(super) unique: Option<UniqueKey>,
    /// The number of its push: its place among the jobs of its ordering key.
    pub(super) seq: u64,
    pub(super) attempts: u32,
    pub(super) last_error: Option<String>,
    pub(super) is_fresh: bool,
    pub(super) place: Place,
    pub(super) state: State,
}

/// Where a waiting job stands in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// In front, the one released last first.
    Front(u64),
    /// By the time it became due.
    Due,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    Waiting { due: Duration },
    Running { token: u64, until: Duration },
}

#[derive(Clone, Debug)]
pub(super) struct Dead {
    pub(super) job: Job,
    pub(super) reason: DeadReason,
    pub(super) error: String,
    pub(super) died_at: Duration,
}

/// One job handed out once.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) token: u64,
    pub(crate) attempt: u32,
    pub(crate) body: Bytes,
}

/// What a lease is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It holds.
    Held,
    /// Its time is over, and nobody else has the job yet. A backend may or may not still take its
    /// word.
    Expired,
    /// It was settled, or somebody else has had the job since.
    Gone,
}

impl Job {
    /// When it becomes due, or its lease ends.
    pub(super) fn changes_at(&self) -> Duration {
        match self.state {
            State::Waiting { due } => due,
            State::Running { until, .. } => until,
        }
    }

    pub(super) fn is_due(&self, now: Duration) -> bool {
        self.changes_at() <= now
    }

    pub(super) fn state_at(&self, now: Duration) -> JobState {
        match self.state {
            _ if self.is_due(now) => JobState::Ready,
            State::Waiting { .. } => JobState::Scheduled,
            State::Running { .. } => JobState::Running,
        }
    }

    /// Sorts the jobs that are due into the order they are served.
    pub(super) fn rank(&self) -> (std::cmp::Reverse<u64>, Duration, u64) {
        let front = match self.place {
            Place::Front(release) => release,
            Place::Due => 0,
        };
        (std::cmp::Reverse(front), self.changes_at(), self.seq)
    }
}
