use std::time::Duration;

/// What one pass of upkeep did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Maintenance {
    /// Scheduled jobs that became ready.
    pub promoted: u64,
    /// Jobs taken back from workers whose lease ran out.
    pub recovered: u64,
    /// Dead letters removed because their retention is over.
    pub purged: u64,
    /// When the next pass is worth running. Zero when this one stopped at its bound.
    pub next: Duration,
}
