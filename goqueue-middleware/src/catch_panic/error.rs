use std::{backtrace::Backtrace, fmt};

use super::place::Place;

/// A job panicked. It counts as a failure, and the job is retried.
///
/// [`JobError::downcast_ref`](goqueue_core::JobError::downcast_ref) finds it in an answer.
#[derive(Debug)]
pub struct Panicked {
    message: String,
    place: Option<Place>,
}

impl Panicked {
    pub(super) fn new(message: String, place: Option<Place>) -> Self {
        Self { message, place }
    }

    /// The panic's text.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The source file, line and column, such as `src/mail.rs:12:9`. `None` when another panic hook
    /// was set after the layer was made and does not call the one before it.
    #[must_use]
    pub fn location(&self) -> Option<&str> {
        self.place.as_ref().map(|place| place.location.as_str())
    }

    /// Where the call came from. `None` as for [`location`](Panicked::location).
    #[must_use]
    pub fn backtrace(&self) -> Option<&Backtrace> {
        self.place.as_ref().map(|place| &place.backtrace)
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "panicked: {}", self.message)?;
        match self.location() {
            Some(location) => write!(f, " ({location})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Panicked {}
