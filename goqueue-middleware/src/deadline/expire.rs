use std::time::{Duration, SystemTime};

use goqueue_core::{
    BoxError, EnqueueHook,
    queue::{Enqueue, EnqueueAll, IncomingJob},
};

/// The header that says until when a job may start: whole milliseconds since the Unix epoch.
pub const EXPIRES_AT: &str = "goqueue-expires-at";

/// Gives what is about to be enqueued a time after which it does not run, where the worker has a
/// [`DeadlineLayer`](super::DeadlineLayer).
///
/// ```
/// # use std::time::Duration;
/// # use goqueue_core::{Error, Job, Queue};
/// use goqueue_middleware::ExpireExt as _;
///
/// # async fn example(queue: Queue, code: impl Job) -> Result<(), Error> {
/// queue.enqueue(code).expires_in(Duration::from_secs(300)).await?;
/// # Ok(()) }
/// ```
pub trait ExpireExt: Sized {
    /// Not after this time, by the worker's clock. A time before 1970 is 1970.
    #[must_use]
    fn expires_at(self, time: impl Into<SystemTime>) -> Self;

    /// Not later than this long from now, a delay included, by the clocks of both sides.
    #[must_use]
    fn expires_in(self, time: Duration) -> Self {
        self.expires_at(after(time))
    }
}

impl ExpireExt for Enqueue {
    fn expires_at(self, time: impl Into<SystemTime>) -> Self {
        self.header(EXPIRES_AT, written(time.into()))
    }
}

impl ExpireExt for EnqueueAll {
    fn expires_at(self, time: impl Into<SystemTime>) -> Self {
        self.header(EXPIRES_AT, written(time.into()))
    }
}

/// Gives every job that has no time of its own one after which it does not run.
#[derive(Clone, Copy, Debug)]
pub struct ExpiryHook {
    after_due: Duration,
}

impl ExpiryHook {
    /// Not later than this long after the job is due first.
    #[must_use]
    pub fn new(after_due: Duration) -> Self {
        Self { after_due }
    }
}

impl EnqueueHook for ExpiryHook {
    fn before(&self, job: &mut IncomingJob) -> Result<(), BoxError> {
        if !job.headers().contains_key(EXPIRES_AT) {
            let time = after(job.delay().saturating_add(self.after_due));
            job.headers_mut().insert(EXPIRES_AT.into(), written(time));
        }
        Ok(())
    }
}

/// A time too far off to be told is the epoch's last millisecond that can.
fn after(time: Duration) -> SystemTime {
    let farthest = Duration::from_millis(MAX_MILLIS);
    let now = SystemTime::now();
    now.checked_add(time.min(farthest)).unwrap_or(now)
}

/// As many as JSON numbers hold exactly: the year 287396.
const MAX_MILLIS: u64 = (1 << 53) - 1;

fn written(time: SystemTime) -> String {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    since.as_millis().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_milliseconds() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_micros(1_500_999);
        assert_eq!(written(time), "1500");
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(5);
        assert_eq!(written(before), "0");
        let forever: u128 = written(after(Duration::MAX)).parse().unwrap();
        assert!(forever > u128::from(MAX_MILLIS));
    }
}
