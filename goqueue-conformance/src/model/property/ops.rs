use goqueue_core::driver::Verdict;

/// One thing that happens. Times are steps; jobs and leases are picked by number among those there
/// are, so that a history still makes sense when a part of it is left out.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// A push of one job.
    Push {
        queue: usize,
        delay: u32,
        ordering: Option<u8>,
        unique: Option<(u8, u32)>,
    },
    /// A reservation by one of two processes.
    Reserve {
        by: usize,
        shares: Vec<(usize, usize)>,
        max: usize,
        lease: u32,
    },
    /// An extension under any lease ever given, stale ones included.
    Extend { lease: usize, by: u32 },
    /// A settlement under any lease ever given, stale ones included.
    Settle { lease: usize, end: Ending },
    /// Time passes.
    Elapse { steps: u32 },
    /// A redrive of all dead letters of a queue, or of one job's.
    Requeue { queue: usize, job: Option<usize> },
    /// A deletion of dead letters, likewise.
    Delete { queue: usize, job: Option<usize> },
    /// A purge.
    Purge { queue: usize },
}

/// A verdict, with its time in steps.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ending {
    Ack,
    Retry(u32),
    Release(u32),
    Dead,
}

impl Ending {
    pub(super) fn verdict(self, time: impl Fn(u32) -> std::time::Duration) -> Verdict {
        match self {
            Self::Ack => Verdict::Ack,
            Self::Retry(steps) => crate::tools::retry(time(steps)),
            Self::Release(steps) => Verdict::Release { delay: time(steps) },
            Self::Dead => crate::tools::dead(),
        }
    }
}
