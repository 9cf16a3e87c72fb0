use std::fmt;

macro_rules! clauses {
    ($($(#[$doc:meta])* $name:ident $title:literal,)+) => {
        /// A clause of the log's contract. Those that begin with `L` are where a plain design loses
        /// or starves messages.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum LogClause {
            $($(#[$doc])* $name,)+
        }

        impl LogClause {
            /// All of them, in order.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// What the contract calls it.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self {
                    $(Self::$name => $title,)+
                }
            }
        }
    };
}

clauses! {
    /// At least once.
    S1 "at least once",
    /// Idempotent publishing.
    S2 "idempotent publishing",
    /// Order within a partition.
    S3 "order and partitions",
    /// A consumer's answers.
    S4 "a consumer's answers",
    /// Dead letters.
    S5 "dead letters",
    /// Consumer groups.
    S6 "consumer groups",
    /// Watermark and collection.
    S7 "watermark and collection",
    /// Fair share.
    S8 "fair share",
    /// Shutdown.
    S9 "shutdown",
    /// Administration.
    S10 "administration",
    /// Offsets become visible in order.
    L1 "offsets become visible in order",
    /// No starvation above the watermark.
    L2 "no starvation above the watermark",
    /// A dead letter robs nobody.
    L3 "a dead letter robs no other group",
    /// Fencing.
    L4 "a late answer changes nothing",
    /// Room before visibility.
    L5 "waiting for room burns no visibility",
    /// Round trips.
    L6 "round trips do not grow with the batch",
    /// New and abandoned groups.
    L7 "new and abandoned groups",
    /// Discovery at scale.
    L8 "discovery does not scan messages",
}

impl fmt::Display for LogClause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?} ({})", self.title())
    }
}
