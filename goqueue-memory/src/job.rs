use std::sync::Arc;

use bytes::Bytes;
use goqueue_core::JobId;

use crate::clock::Moment;

/// A live job.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) body: Bytes,
    /// Which of the store's queues it is in.
    pub(crate) queue: QueueIndex,
    pub(crate) attempts: u32,
    /// When it was or will be due.
    pub(crate) due: Moment,
    /// Its rank among the jobs of its queue that are due; before that, among those due at once.
    pub(crate) rank: u64,
    pub(crate) place: Place,
    /// What few jobs have.
    extras: Option<Box<Extras>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueIndex(pub(crate) u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Not due yet.
    Scheduled,
    /// Due, and nothing in its way.
    Ready,
    /// Due, behind an earlier job of its ordering key.
    Held,
    /// Under a lease.
    Running { until: Moment },
}

#[derive(Debug, Default)]
struct Extras {
    keys: Keys,
    last_error: Option<String>,
}

/// What outlives a job in its dead letter, so that it can take its place again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    /// The ordering key.
    pub(crate) lane: Option<Arc<str>>,
    pub(crate) unique: Option<UniqueHold>,
}

#[derive(Clone, Debug)]
pub(crate) struct UniqueHold {
    pub(crate) key: Arc<str>,
    /// Until when the key is taken, even when the job has ended.
    pub(crate) until: Moment,
}

impl Job {
    /// A job that is not in its queue yet.
    pub(crate) fn new(id: JobId, body: Bytes, queue: QueueIndex, keys: Keys) -> Self {
        let extras = (keys.lane.is_some() || keys.unique.is_some()).then(|| {
            Box::new(Extras {
                keys,
                last_error: None,
            })
        });
        Self {
            id,
            body,
            queue,
            attempts: 0,
            due: Moment::START,
            rank: 0,
            place: Place::Scheduled,
            extras,
        }
    }

    pub(crate) fn lane(&self) -> Option<&Arc<str>> {
        self.extras.as_ref()?.keys.lane.as_ref()
    }

    pub(crate) fn unique(&self) -> Option<&UniqueHold> {
        self.extras.as_ref()?.keys.unique.as_ref()
    }

    pub(crate) fn last_error(&self) -> Option<&str> {
        self.extras.as_ref()?.last_error.as_deref()
    }

    pub(crate) fn set_last_error(&mut self, error: String) {
        self.extras.get_or_insert_default().last_error = Some(error);
    }

    pub(crate) fn take_keys(&mut self) -> Keys {
        self.extras
            .take()
            .map(|extras| extras.keys)
            .unwrap_or_default()
    }
}

#[cfg(test)]
impl Job {
    pub(crate) fn sample() -> Self {
        Self::new(
            JobId::new(),
            Bytes::from_static(b"body"),
            QueueIndex(0),
            Keys::default(),
        )
    }
}
