use std::time::Duration;

use bytes::Bytes;

use crate::{
    error::Error,
    job::{JobId, QueueName},
};

/// A job on its way into the backend.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Its identity.
    pub id: JobId,
    /// Where it goes.
    pub queue: QueueName,
    /// What to store and hand back unchanged. Usually an encoded [`Envelope`](crate::Envelope); a
    /// driver never looks inside.
    pub body: Bytes,
    /// How long until it is due, by the backend's clock.
    pub delay: Duration,
    /// Jobs of one queue with this key run one at a time and in the order they were pushed. A head
    /// that is delayed or waits for a retry holds the others.
    pub ordering_key: Option<String>,
    /// At most one live job per queue and key.
    pub unique: Option<UniqueKey>,
}

impl NewJob {
    /// Whether it is due at once and has no key, so that storing it is all there is to do.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.delay.is_zero() && self.ordering_key.is_none() && self.unique.is_none()
    }
}

/// Which live job counts as the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniqueKey {
    /// The key, compared within one queue.
    pub key: String,
    /// How long from the push the key stays taken, whatever becomes of the job. Zero when it is
    /// freed with the job.
    pub hold: Duration,
}

/// What became of one pushed job.
#[derive(Debug)]
pub enum PushOutcome {
    /// It is stored.
    Stored,
    /// Nothing was stored: this job holds the unique key.
    Duplicate(JobId),
    /// Nothing was stored, for this reason.
    Refused(Error),
}
