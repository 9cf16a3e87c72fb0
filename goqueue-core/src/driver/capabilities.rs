use std::time::Duration;

/// What a backend can do, read by the queue, the worker, the documentation and the tests.
///
/// A call that needs what is missing here is refused with
/// [`Error::Unsupported`](crate::Error::Unsupported), by the queue, before the driver sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The driver's name, which is also its URL scheme and its Cargo feature.
    pub driver: &'static str,
    /// Whether jobs outlive the process.
    pub durable: bool,
    /// Whose clock decides what is due.
    pub clock: Clock,
    /// How far ahead, and how finely, a job can be scheduled.
    pub delay: DelayLimits,
    /// How much one call may carry.
    pub batch: BatchLimits,
    /// The most bytes one encoded job may have.
    pub max_payload: usize,
    /// Whether `ordering_key` is kept.
    pub ordering: bool,
    /// How `unique_key` is kept.
    pub unique: UniqueCapability,
    /// Whether a job can be enqueued in the caller's own transaction.
    pub transactional_enqueue: bool,
    /// Whether a released or snoozed job gets its attempt back.
    pub release_without_attempt: bool,
    /// Whether a settlement under a lost lease is always told apart.
    pub stale_settle: bool,
    /// Which administrative calls there are.
    pub inspect: InspectCapability,
}

/// Whose clock decides what is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The process's own.
    Process,
    /// The backend's.
    Server,
}

/// How far ahead, and how finely, a job can be scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayLimits {
    /// The longest delay; `None` is no limit.
    pub max: Option<Duration>,
    /// Delays are rounded up to a multiple of this.
    pub granularity: Duration,
}

/// How much one call may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Jobs per push.
    pub jobs: usize,
    /// Bytes of all bodies of a push together.
    pub bytes: usize,
    /// Jobs that the backend hands out or settles for the price of one, where its calls have a
    /// price: with more to do than it can, a worker waits a moment until it can ask for so many. 1
    /// where it does not matter.
    pub full_call: usize,
}

/// How unique keys are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UniqueCapability {
    /// For exactly as long as the contract says.
    Exact,
    /// Only within this long after the enqueueing.
    Window(Duration),
    /// Not at all.
    None,
}

/// Which administrative calls a backend has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InspectCapability {
    /// All of [`Inspect`](super::Inspect).
    Full,
    /// Counts and dead letters; waiting jobs cannot be listed, and one that is not due yet may be
    /// counted as ready or as running.
    CountsAndDeadLetters,
    /// None.
    None,
}
