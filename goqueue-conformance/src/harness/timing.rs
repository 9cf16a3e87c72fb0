use std::time::Duration;

/// How long things take on a backend, and how long the suite may take over them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// How long the leases of the cases last. Other times of a case are multiples of it, so it has
    /// to be a multiple of the backend's granularity.
    pub lease: Duration,
    /// How long the backend may take to show what is due or what has expired: its poll interval
    /// and some slack for a busy machine.
    pub tolerance: Duration,
    /// Whether time is the runtime's paused clock, so that waiting costs nothing.
    pub is_virtual: bool,
    /// How many random histories the reference model is compared on.
    pub histories: u32,
}

impl Timing {
    /// For drivers whose only clock is tokio's, on a paused runtime.
    pub const VIRTUAL: Self = Self {
        lease: Duration::from_secs(10),
        tolerance: Duration::from_millis(500),
        is_virtual: true,
        histories: 300,
    };

    /// For backends with a clock of their own, reached over the network.
    pub const REAL: Self = Self {
        lease: Duration::from_secs(2),
        tolerance: Duration::from_millis(1500),
        is_virtual: false,
        histories: 4,
    };
}
