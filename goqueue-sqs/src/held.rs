//! What a lease on SQS has to know: a message's attributes cannot change and its body cannot be
//! asked for again, so whoever received it keeps both until its end.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use goqueue_core::{JobId, driver::Lease};
use tokio::time::Instant;

use crate::{attributes::Attributes, limits::longest_hide, queues::SqsQueue};

/// One message under a lease of this process.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) queue: Arc<SqsQueue>,
    pub(crate) id: JobId,
    pub(crate) receipt: String,
    pub(crate) message_id: String,
    pub(crate) body: Bytes,
    /// Deliveries so far, this one included.
    pub(crate) attempt: u32,
    /// When the message was sent, by the service's clock, in milliseconds since the Unix epoch.
    pub(crate) sent: u64,
    /// FIFO: the message's group.
    pub(crate) group: Option<String>,
    /// FIFO: the deduplication id of its first copy.
    pub(crate) dedup: Option<String>,
    pub(crate) foreign: Attributes,
    /// Before this process heard of it, so that no later time counts from it too early.
    pub(crate) received: Instant,
    until: Mutex<Instant>,
    has_ended: AtomicBool,
    /// Whether a copy was sent already, so that only the original is left to delete.
    is_moved: AtomicBool,
}

/// What is known of a message when its lease begins.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) queue: Arc<SqsQueue>,
    pub(crate) id: JobId,
    pub(crate) receipt: String,
    pub(crate) message_id: String,
    pub(crate) body: Bytes,
    pub(crate) attempt: u32,
    pub(crate) sent: u64,
    pub(crate) group: Option<String>,
    pub(crate) dedup: Option<String>,
    pub(crate) foreign: Attributes,
}

impl Held {
    pub(crate) fn new(start: Start, lease: Duration) -> Self {
        let now = Instant::now();
        Self {
            queue: start.queue,
            id: start.id,
            receipt: start.receipt,
            message_id: start.message_id,
            body: start.body,
            attempt: start.attempt,
            sent: start.sent,
            group: start.group,
            dedup: start.dedup,
            foreign: start.foreign,
            received: now,
            until: Mutex::new(now + lease),
            has_ended: AtomicBool::new(false),
            is_moved: AtomicBool::new(false),
        }
    }

    /// The message of a lease, while the lease is good by this process's own clock. The service
    /// would accept an old receipt and perhaps do nothing.
    pub(crate) fn by(lease: &Lease) -> Option<Arc<Self>> {
        let held = lease.token.as_shared::<Self>()?;
        let is_it = held.id == lease.id && held.queue.name == lease.queue;
        (is_it && held.is_good()).then_some(held)
    }

    pub(crate) fn is_good(&self) -> bool {
        let until = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
        !self.has_ended.load(Ordering::Acquire) && Instant::now() < until
    }

    pub(crate) fn extended_to(&self, until: Instant) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
    }

    pub(crate) fn moved(&self) {
        self.is_moved.store(true, Ordering::Release);
    }

    pub(crate) fn is_moved(&self) -> bool {
        self.is_moved.load(Ordering::Acquire)
    }

    /// How much longer the service lets it be hidden, of the `most` that it allows after a receive.
    pub(crate) fn hideable(&self, most: Duration) -> Duration {
        longest_hide(most).saturating_sub(self.received.elapsed())
    }
}
