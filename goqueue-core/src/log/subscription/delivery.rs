use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use tokio::time::Instant;

use super::{buffer::Ready, shared::Shared};
use crate::{
    error::{Error, Result},
    log::{
        config::Checked,
        message::{Message, Metadata},
        observe::{EventKind, StoreKind},
        store::{OpenMessage, Settled, Settlement, Verdict},
    },
    telemetry::{log_target, span},
};

/// One delivery of one message. Answer it once, in time: within the visibility timeout, of which at
/// least two thirds are left when it is handed out.
///
/// One that is dropped without an answer is delivered again after its visibility timeout, with its
/// attempt spent. An answer that fails with [`Error::LeaseLost`] came too late: the message has been
/// delivered again, and nothing was changed.
pub struct Delivery {
    shared: Arc<Shared>,
    message: Message,
    attempt: u32,
    open: OpenMessage,
    received_at: SystemTime,
    good_until: Mutex<Instant>,
}

impl Delivery {
    pub(super) fn new(shared: Arc<Shared>, ready: Ready) -> Self {
        Self {
            shared,
            open: ready.open(),
            message: ready.delivered.message,
            attempt: ready.delivered.attempt,
            received_at: SystemTime::now(),
            good_until: Mutex::new(ready.good_until),
        }
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// Which delivery of the message to this group it is, from 1. Deliveries that were postponed or
    /// that nobody saw do not count; those whose consumer crashed do.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Whether the message is given up when this delivery fails.
    #[must_use]
    pub fn is_last_attempt(&self) -> bool {
        self.attempt >= self.shared.checked.config.retry.max_attempts
    }

    /// When the delivery was handed out, by this program's clock.
    #[must_use]
    pub fn received_at(&self) -> SystemTime {
        self.received_at
    }

    /// Tells this delivery from every other, of this message and of all.
    #[must_use]
    pub fn delivery_id(&self) -> String {
        let Checked { topic, group, .. } = &*self.shared.checked;
        let OpenMessage {
            partition,
            offset,
            receipt,
        } = &self.open;
        format!("{topic}/{partition}@{offset}:{group}:{:016x}", receipt.0)
    }

    /// The message's metadata.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.message.metadata
    }

    /// A span for the processing of this delivery, with its fields filled in.
    #[must_use]
    pub fn span(&self) -> tracing::Span {
        let Checked { topic, group, .. } = &*self.shared.checked;
        tracing::info_span!(
            target: log_target::SUBSCRIBER,
            span::LOG_PROCESS,
            messaging.system = self.shared.backend.inner.capabilities().driver,
            messaging.destination.name = %topic,
            messaging.destination.partition.id = %self.open.partition,
            messaging.consumer.group.name = %group,
            messaging.message.id = %self.message.id,
            messaging.operation.name = "process",
            offset = self.message.offset,
            attempt = self.attempt,
        )
    }

    /// The message is done with, for this group. Returns once that is written down.
    ///
    /// # Errors
    /// [`Error::LeaseLost`] when it came too late; [`Error::Batch`] with what the backend said when it
    /// could not be written down, in which case the message will be delivered again.
    pub async fn ack(self) -> Result<()> {
        self.settle(Verdict::Ack, EventKind::Acked).await
    }

    /// The delivery failed. The message is invisible for `delay`, or as the retry schedule says when
    /// that is zero; later messages of its partition do not wait for it, unless the batch size is 1.
    /// After the last attempt it is given up as by [`reject`](Delivery::reject).
    ///
    /// # Errors
    /// As for [`ack`](Delivery::ack).
    pub async fn nack(self, delay: Duration) -> Result<()> {
        self.fail(delay, None).await
    }

    /// The same, with the reason, which a dead letter will name.
    ///
    /// # Errors
    /// As for [`ack`](Delivery::ack).
    pub async fn nack_because(self, delay: Duration, error: impl fmt::Display) -> Result<()> {
        self.fail(delay, Some(error.to_string())).await
    }

    /// It is not the time for this message: it is delivered again after `delay`, which costs no
    /// attempt, and until then nothing else of its partition is.
    ///
    /// # Errors
    /// As for [`ack`](Delivery::ack).
    pub async fn postpone(self, delay: Duration) -> Result<()> {
        self.settle(Verdict::Postpone { delay }, EventKind::Postponed)
            .await
    }

    /// The message is given up at once: it becomes a dead letter that names the reason, or, with
    /// dead letters disabled, is done with.
    ///
    /// # Errors
    /// As for [`ack`](Delivery::ack).
    pub async fn reject(self, reason: impl fmt::Display) -> Result<()> {
        let reason = reason.to_string();
        let (verdict, kind) = self.shared.giving_up(&self.message, self.attempt, reason);
        self.settle(verdict, kind).await
    }

    /// Keeps the message from everyone else for `by` from now. The attempt stays as it is.
    ///
    /// # Errors
    /// [`Error::LeaseLost`] when it came too late; otherwise what the backend says.
    pub async fn extend(&self, by: Duration) -> Result<()> {
        let until = Instant::now() + by.min(crate::log::config::LONGEST);
        let Shared {
            backend, checked, ..
        } = &*self.shared;
        let open = std::slice::from_ref(&self.open);
        let store = backend.inner.deliveries();
        let call = store.extend(&checked.topic, &checked.group, open, by);
        let answers = backend
            .timed(StoreKind::DeliveryState, "extend", call)
            .await?;
        match answers.first() {
            Some(Settled::Done) => {
                *self
                    .good_until
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner) = until;
                Ok(())
            }
            _ => Err(Error::LeaseLost {
                message: self.place(),
            }),
        }
    }

    async fn fail(self, delay: Duration, error: Option<String>) -> Result<()> {
        let config = &self.shared.checked.config;
        if self.is_last_attempt() {
            let error = error.unwrap_or_else(|| format!("failed {} times", self.attempt));
            return self.reject(error).await;
        }
        let delay = match delay {
            Duration::ZERO => config.retry.backoff_after(self.attempt),
            delay => delay,
        };
        self.settle(Verdict::Retry { delay, error }, EventKind::Nacked)
            .await
    }

    async fn settle(self, verdict: Verdict, kind: EventKind) -> Result<()> {
        let good_until = *self
            .good_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let settlement = Settlement {
            partition: self.open.partition.clone(),
            offset: self.open.offset,
            receipt: self.open.receipt,
            verdict,
        };
        self.shared
            .answers
            .settle(settlement, kind, good_until)
            .await
    }

    fn place(&self) -> String {
        let (topic, partition) = (&self.shared.checked.topic, &self.open.partition);
        format!("{topic}/{partition}@{}", self.open.offset)
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("id", &self.delivery_id())
            .field("message", &self.message.id)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}
