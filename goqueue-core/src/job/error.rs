use std::{fmt, sync::Arc, time::Duration};

use crate::error::BoxError;

/// What a handler returns.
pub type JobResult = Result<(), JobError>;

/// A handler's answer other than success.
///
/// Any error turns into one with `?` and means "retry". The constructors say something else:
///
/// | answer | what happens |
/// | --- | --- |
/// | `Err(e)` / `?` | retried after the backoff; dead after the last attempt |
/// | [`retry_in(d, e)`](JobError::retry_in) | the same, but due after `d` instead |
/// | [`permanent(e)`](JobError::permanent) | dead letters at once |
/// | [`snooze(d)`](JobError::snooze) | runs again after `d`, no attempt spent |
/// | [`discard(reason)`](JobError::discard) | done, with a log line |
///
/// It does not implement [`std::error::Error`] itself, which is what lets `?` take every error,
/// `anyhow::Error` and plain strings included. [`into_boxed`](JobError::into_boxed) gives one that
/// does.
///
/// ```
/// use goqueue_core::{JobError, JobResult};
///
/// fn charge(cents: i64) -> JobResult {
///     if cents < 0 {
///         return Err(JobError::permanent("a negative amount"));
///     }
///     let _rate: f64 = "1.25".parse()?; // a parse error would be retried
///     Ok(())
/// }
/// # assert!(charge(5).is_ok());
/// assert_eq!(charge(-5).unwrap_err().to_string(), "a negative amount");
/// ```
#[derive(Clone)]
pub struct JobError {
    kind: JobErrorKind,
    message: Arc<str>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// Which answer a [`JobError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobErrorKind {
    /// Try again on the retry schedule.
    Retry,
    /// Try again after this long, whatever the schedule says.
    RetryIn(Duration),
    /// Never try again: dead-letter it.
    Permanent,
    /// Run again after this long without spending an attempt.
    Snooze(Duration),
    /// Drop it with a log line.
    Discard,
    /// The payload is not what the job type expects: dead-letter it.
    Undecodable,
}

impl JobError {
    /// A failure that no retry can mend: the job goes to the dead letters at once.
    pub fn permanent(error: impl Into<BoxError>) -> Self {
        Self::new(JobErrorKind::Permanent, error)
    }

    /// Not yet: run the job again after `delay` without spending an attempt.
    #[must_use]
    pub fn snooze(delay: Duration) -> Self {
        Self {
            kind: JobErrorKind::Snooze(delay),
            message: "snoozed".into(),
            source: None,
        }
    }

    /// No longer wanted: the job counts as done, and the reason is logged.
    pub fn discard(reason: impl Into<String>) -> Self {
        Self {
            kind: JobErrorKind::Discard,
            message: reason.into().into(),
            source: None,
        }
    }

    /// A failure that says when to try again, as with an HTTP `Retry-After`. It spends an attempt.
    pub fn retry_in(delay: Duration, error: impl Into<BoxError>) -> Self {
        Self::new(JobErrorKind::RetryIn(delay), error)
    }

    /// The payload does not decode into the job's type.
    pub(crate) fn undecodable(error: impl Into<BoxError>) -> Self {
        Self::new(JobErrorKind::Undecodable, error)
    }

    fn new(kind: JobErrorKind, error: impl Into<BoxError>) -> Self {
        let error = error.into();
        Self {
            kind,
            message: describe(&*error).into(),
            source: Some(error.into()),
        }
    }

    /// Which answer this is.
    #[must_use]
    pub fn kind(&self) -> JobErrorKind {
        self.kind
    }

    /// The text that is stored as the job's last error: the error and its sources.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The error this answer was made from, if it is a `T`.
    #[must_use]
    pub fn downcast_ref<T: std::error::Error + 'static>(&self) -> Option<&T> {
        self.source
            .as_deref()
            .and_then(|source| source.downcast_ref())
    }

    /// The answer as a boxed error, for tower layers that want one. Turning it back with
    /// `JobError::from` keeps the answer, also through errors that name it as their source.
    #[must_use]
    pub fn into_boxed(self) -> BoxError {
        Box::new(Carrier(self))
    }
}

impl<E: Into<BoxError>> From<E> for JobError {
    fn from(error: E) -> Self {
        let error = error.into();
        match carried(&*error) {
            Some(answer) => answer,
            None => Self::new(JobErrorKind::Retry, error),
        }
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobError")
            .field("kind", &self.kind)
            .field("message", &self.message)
            .finish()
    }
}

/// Carries an answer through layers that only know boxed errors.
#[derive(Debug)]
struct Carrier(JobError);

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Carrier {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

fn carried(error: &(dyn std::error::Error + 'static)) -> Option<JobError> {
    std::iter::successors(Some(error), |e| e.source())
        .find_map(|e| e.downcast_ref::<Carrier>())
        .map(|carrier| carrier.0.clone())
}

/// An error and its sources as one line, leaving out a source that its parent already quotes.
fn describe(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    for source in std::iter::successors(error.source(), |e| e.source()) {
        let source = source.to_string();
        if !text.contains(&source) {
            text.push_str(": ");
            text.push_str(&source);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("layer gave up")]
    struct Layer(#[source] BoxError);

    #[test]
    fn any_error_means_retry() {
        let parse = JobError::from("x".parse::<u8>().unwrap_err());
        assert_eq!(parse.kind(), JobErrorKind::Retry);
        assert_eq!(parse.message(), "invalid digit found in string");
        assert_eq!(JobError::from("text").kind(), JobErrorKind::Retry);
    }

    #[test]
    fn an_answer_survives_boxing_and_wrapping() {
        let snooze = JobError::snooze(Duration::from_secs(3)).into_boxed();
        let wrapped: BoxError = Box::new(Layer(snooze));
        assert_eq!(
            JobError::from(wrapped).kind(),
            JobErrorKind::Snooze(Duration::from_secs(3))
        );
    }

    #[test]
    fn sources_are_told_once() {
        let error = Layer("disk full".into());
        assert_eq!(
            JobError::permanent(error).message(),
            "layer gave up: disk full"
        );
    }
}
