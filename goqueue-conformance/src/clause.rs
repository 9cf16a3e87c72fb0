use std::fmt;

/// A clause of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Clause {
    /// At least once.
    C1,
    /// One holder.
    C2,
    /// Attempts count deliveries.
    C3,
    /// One retry schedule.
    C4,
    /// Never early.
    C5,
    /// Dead letters.
    C6,
    /// A handler's answers.
    C7,
    /// Long jobs.
    C8,
    /// Shutdown.
    C9,
    /// Order.
    C10,
    /// Unique.
    C11,
    /// Bulk.
    C12,
    /// Weights.
    C13,
    /// Honest failure.
    C14,
    /// Secrets.
    C15,
}

impl Clause {
    /// All of them, in order.
    pub const ALL: [Self; 15] = [
        Self::C1,
        Self::C2,
        Self::C3,
        Self::C4,
        Self::C5,
        Self::C6,
        Self::C7,
        Self::C8,
        Self::C9,
        Self::C10,
        Self::C11,
        Self::C12,
        Self::C13,
        Self::C14,
        Self::C15,
    ];

    /// What the contract calls it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::C1 => "at least once",
            Self::C2 => "one holder",
            Self::C3 => "attempts count deliveries",
            Self::C4 => "one retry schedule",
            Self::C5 => "never early",
            Self::C6 => "dead letters",
            Self::C7 => "a handler's answers",
            Self::C8 => "long jobs",
            Self::C9 => "shutdown",
            Self::C10 => "order",
            Self::C11 => "unique",
            Self::C12 => "bulk",
            Self::C13 => "weights",
            Self::C14 => "honest failure",
            Self::C15 => "secrets",
        }
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?} ({})", self.title())
    }
}
