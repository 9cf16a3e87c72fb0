use std::time::Duration;

use goqueue_core::{JobErrorKind, JobOutcome, JobResult, dead_letter::DeadReason};

/// What an answer means, as far as this run alone decides it.
pub(crate) fn outcome_of(answer: &JobResult, is_last_attempt: bool) -> JobOutcome {
    let Err(error) = answer else {
        return JobOutcome::Succeeded;
    };
    match error.kind() {
        JobErrorKind::Snooze(delay) => JobOutcome::Snoozed(delay),
        JobErrorKind::Discard => JobOutcome::Discarded,
        JobErrorKind::Permanent => JobOutcome::Dead(DeadReason::Permanent),
        JobErrorKind::Undecodable => JobOutcome::Dead(DeadReason::Undecodable),
        _ if is_last_attempt => JobOutcome::Dead(DeadReason::Exhausted),
        JobErrorKind::RetryIn(delay) => JobOutcome::Retried(delay),
        // The worker's policy knows the delay; the label needs none.
        _ => JobOutcome::Retried(Duration::ZERO),
    }
}
