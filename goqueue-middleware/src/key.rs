//! What the layers that limit have in common: what they tell jobs apart by, and how long is for ever.

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use goqueue_core::middleware::JobRequest;

/// As long as it says, and no longer than can be added to a time: for a year.
#[allow(dead_code, reason = "not each of the layers that limit needs it")]
pub(crate) fn countable(time: Duration) -> Duration {
    const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    time.min(A_YEAR)
}

type KeyOf = dyn Fn(&JobRequest) -> Option<String> + Send + Sync;

/// Jobs with the same key count together.
#[derive(Clone)]
pub(crate) enum Key {
    /// All jobs have the same.
    Same,
    /// The job type's name.
    Name,
    /// What this answers; `None` leaves the job alone.
    By(Arc<KeyOf>),
}

impl Key {
    pub(crate) fn of<'a>(&self, request: &'a JobRequest) -> Option<Cow<'a, str>> {
        match self {
            Key::Same => Some(Cow::Borrowed("")),
            Key::Name => Some(Cow::Borrowed(request.name())),
            Key::By(key) => key(request).map(Cow::Owned),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Key::Same => "Same",
            Key::Name => "Name",
            Key::By(_) => "By(..)",
        })
    }
}

/// The methods with which a layer is told what to count by.
macro_rules! keyed {
    ($layer:ident) => {
        impl $layer {
            /// Counts all jobs together, instead of each job name by itself.
            #[must_use]
            pub fn all_together(mut self) -> Self {
                self.key = $crate::key::Key::Same;
                self
            }

            /// Counts jobs with the same key together, instead of each job name by itself. A job
            /// without a key is let through.
            ///
            /// The function is called once per run, and should be quick: the worker's other jobs
            /// wait for it.
            #[must_use]
            pub fn by(
                mut self,
                key: impl Fn(&goqueue_core::middleware::JobRequest) -> Option<String>
                + Send
                + Sync
                + 'static,
            ) -> Self {
                self.key = $crate::key::Key::By(std::sync::Arc::new(key));
                self
            }
        }
    };
}
pub(crate) use keyed;
