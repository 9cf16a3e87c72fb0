//! The one place that decides what becomes of a job.

use std::time::Duration;

use crate::{
    dead_letter::DeadReason,
    driver::Verdict,
    job::{JobError, JobErrorKind, JobId, JobResult},
    retry::RetryPolicy,
    telemetry::JobOutcome,
};

/// The longest error text that is stored with a job, in bytes.
const MAX_ERROR: usize = 4096;

/// What becomes of a job, and the handler's error if it gave one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) verdict: Verdict,
    pub(super) outcome: JobOutcome,
    pub(super) error: Option<String>,
}

impl Decision {
    pub(super) fn released() -> Self {
        let verdict = Verdict::Release {
            delay: Duration::ZERO,
        };
        Self {
            verdict,
            outcome: JobOutcome::Released,
            error: None,
        }
    }

    pub(super) fn dead(reason: DeadReason, error: impl Into<String>) -> Self {
        let error = shortened(error.into());
        Self {
            verdict: Verdict::Dead {
                reason,
                error: error.clone(),
            },
            outcome: JobOutcome::Dead(reason),
            error: Some(error),
        }
    }

    fn retry(delay: Duration, error: &JobError) -> Self {
        let error = shortened(error.message().into());
        Self {
            verdict: Verdict::Retry {
                delay,
                error: error.clone(),
            },
            outcome: JobOutcome::Retried(delay),
            error: Some(error),
        }
    }
}

/// What becomes of job `id` whose attempt `attempt` of `max_attempts` gave this answer.
pub(super) fn decide(
    answer: &JobResult,
    id: JobId,
    attempt: u32,
    max_attempts: u32,
    policy: &RetryPolicy,
) -> Decision {
    let Err(error) = answer else {
        return Decision {
            verdict: Verdict::Ack,
            outcome: JobOutcome::Succeeded,
            error: None,
        };
    };
    let is_last = attempt >= max_attempts;
    match error.kind() {
        JobErrorKind::Retry | JobErrorKind::RetryIn(_) if is_last => {
            Decision::dead(DeadReason::Exhausted, error.message())
        }
        JobErrorKind::Retry => Decision::retry(policy.delay_after(attempt, id), error),
        JobErrorKind::RetryIn(delay) => Decision::retry(delay, error),
        JobErrorKind::Permanent => Decision::dead(DeadReason::Permanent, error.message()),
        JobErrorKind::Undecodable => Decision::dead(DeadReason::Undecodable, error.message()),
        JobErrorKind::Snooze(delay) => Decision {
            verdict: Verdict::Release { delay },
            outcome: JobOutcome::Snoozed(delay),
            error: None,
        },
        JobErrorKind::Discard => Decision {
            verdict: Verdict::Ack,
            outcome: JobOutcome::Discarded,
            error: Some(shortened(error.message().into())),
        },
    }
}

fn shortened(mut error: String) -> String {
    if error.len() > MAX_ERROR {
        let end = (0..=MAX_ERROR)
            .rev()
            .find(|at| error.is_char_boundary(*at))
            .unwrap_or(0);
        error.truncate(end);
        error.push('…');
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: RetryPolicy = RetryPolicy::exponential(Duration::from_secs(2));

    fn outcome(error: JobError, attempt: u32) -> JobOutcome {
        decide(&Err(error), JobId::new(), attempt, 3, &POLICY).outcome
    }

    #[test]
    fn failures_follow_the_policy_until_the_last_attempt() {
        assert_eq!(
            outcome("e".into(), 1),
            JobOutcome::Retried(Duration::from_secs(2))
        );
        assert_eq!(
            outcome("e".into(), 2),
            JobOutcome::Retried(Duration::from_secs(4))
        );
        assert_eq!(
            outcome("e".into(), 3),
            JobOutcome::Dead(DeadReason::Exhausted)
        );
        let later = || JobError::retry_in(Duration::from_secs(9), "busy");
        assert_eq!(
            outcome(later(), 1),
            JobOutcome::Retried(Duration::from_secs(9))
        );
        assert_eq!(outcome(later(), 3), JobOutcome::Dead(DeadReason::Exhausted));
    }

    #[test]
    fn the_other_answers_do_not_depend_on_the_attempt() {
        for attempt in [1, 3] {
            let day = Duration::from_secs(86_400);
            assert_eq!(
                outcome(JobError::permanent("bad"), attempt),
                JobOutcome::Dead(DeadReason::Permanent)
            );
            assert_eq!(
                outcome(JobError::snooze(day), attempt),
                JobOutcome::Snoozed(day)
            );
            assert_eq!(
                outcome(JobError::discard("old"), attempt),
                JobOutcome::Discarded
            );
        }
    }

    #[test]
    fn a_huge_error_is_cut_at_a_character() {
        let error = JobError::from("é".repeat(MAX_ERROR));
        let decision = decide(&Err(error), JobId::new(), 1, 3, &POLICY);
        let text = decision.error.unwrap();
        assert!(text.len() <= MAX_ERROR + '…'.len_utf8() && text.ends_with("é…"));
    }
}
