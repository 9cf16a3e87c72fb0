//! When a failed job runs again, and when a failed driver call is tried again.

mod millis;
mod transient;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::job::JobId;

pub(crate) use millis::millis_opt;
pub use transient::TransientBackoff;

/// Attempts in all when neither the job nor the worker says otherwise.
pub const DEFAULT_MAX_ATTEMPTS: u32 = 5;

/// The schedule on which a failed job runs again.
///
/// After attempt `n` fails the job is due again after
/// `min(max_delay, initial_delay * multiplier^(n-1))`, in whole milliseconds. The arithmetic
/// saturates. With the default multiplier of 2 this is the classic
/// `delay = RetryDelay * 2^retry_count`. Jitter only ever shortens a delay and depends on nothing
/// but the job and the attempt, so a job has one schedule on every driver.
///
/// ```
/// # use std::time::Duration;
/// # use goqueue_core::{JobId, RetryPolicy};
/// let policy = RetryPolicy::exponential(Duration::from_secs(2)).max_delay(Duration::from_secs(10));
/// let seconds = |attempt| policy.delay_after(attempt, JobId::new()).as_secs();
/// assert_eq!((seconds(1), seconds(2), seconds(3), seconds(4)), (2, 4, 8, 10));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetryPolicy {
    #[serde(rename = "initial_delay", with = "millis")]
    initial: Duration,
    multiplier: f64,
    #[serde(with = "millis")]
    max_delay: Duration,
    #[serde(default)]
    jitter: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_attempts: Option<u32>,
}

impl RetryPolicy {
    /// Delays that double: `initial`, then `2 * initial`, … up to ten minutes, without jitter.
    #[must_use]
    pub const fn exponential(initial: Duration) -> Self {
        Self {
            initial,
            multiplier: 2.0,
            max_delay: Duration::from_secs(600),
            jitter: 0.0,
            max_attempts: None,
        }
    }

    /// The same delay after every failure.
    #[must_use]
    pub const fn constant(delay: Duration) -> Self {
        Self {
            initial: delay,
            multiplier: 1.0,
            max_delay: Duration::MAX,
            jitter: 0.0,
            max_attempts: None,
        }
    }

    /// What each delay is multiplied by to give the next. Below 1 (or not a number) counts as 1.
    #[must_use]
    pub const fn multiplier(mut self, multiplier: f64) -> Self {
        self.multiplier = if multiplier >= 1.0 { multiplier } else { 1.0 };
        self
    }

    /// The longest delay.
    #[must_use]
    pub const fn max_delay(mut self, max_delay: Duration) -> Self {
        self.max_delay = max_delay;
        self
    }

    /// Spreads each delay `d` evenly over `d * (1 - jitter) ..= d`. Kept within 0 and 1.
    #[must_use]
    pub const fn jitter(mut self, jitter: f64) -> Self {
        self.jitter = if jitter >= 0.0 { jitter.min(1.0) } else { 0.0 };
        self
    }

    /// How many times a job may run in all, the first included. Zero counts as 1.
    #[must_use]
    pub const fn max_attempts(mut self, max_attempts: u32) -> Self {
        self.max_attempts = Some(if max_attempts == 0 { 1 } else { max_attempts });
        self
    }

    /// The attempts this policy sets, if it sets any.
    #[must_use]
    pub const fn attempts(&self) -> Option<u32> {
        self.max_attempts
    }

    /// How long after the failure of attempt `attempt` (1-based) the job is due again.
    #[must_use]
    pub fn delay_after(&self, attempt: u32, job: JobId) -> Duration {
        let kept = 1.0 - self.jitter * unit_interval(job, attempt);
        from_millis(self.planned(attempt) * kept)
    }

    /// The same without jitter.
    pub(crate) fn planned_after(&self, attempt: u32) -> Duration {
        from_millis(self.planned(attempt))
    }

    fn planned(&self, attempt: u32) -> f64 {
        let (initial, longest) = (millis_of(self.initial), millis_of(self.max_delay));
        if initial <= 0.0 {
            return 0.0;
        }
        let exponent = f64::from(attempt.saturating_sub(1));
        (initial * self.multiplier.powf(exponent)).min(longest)
    }
}

impl Default for RetryPolicy {
    /// 2 s doubling up to 10 min, no jitter, [`DEFAULT_MAX_ATTEMPTS`].
    fn default() -> Self {
        Self::exponential(Duration::from_secs(2)).max_attempts(DEFAULT_MAX_ATTEMPTS)
    }
}

/// A float that is too large for u64 saturates in the cast.
fn from_millis(millis: f64) -> Duration {
    Duration::from_millis(millis.round() as u64)
}

fn millis_of(duration: Duration) -> f64 {
    duration.as_millis() as f64
}

/// A number in `0.0..1.0` fixed by the job and the attempt: the finaliser of SplitMix64 (Steele,
/// Lea and Flood, "Fast splittable pseudorandom number generators", 2014) over both.
fn unit_interval(job: JobId, attempt: u32) -> f64 {
    const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
    let (high, low) = job.as_uuid().as_u64_pair();
    let mut x = 0;
    for word in [high, low, u64::from(attempt)] {
        x = (x ^ word).wrapping_add(GOLDEN_GAMMA);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
    }
    // The top 53 bits are exactly what a double can hold.
    (x >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests;
