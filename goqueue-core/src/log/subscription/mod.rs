//! Reading a topic.
//!
//! Per subscription there is one supervisor task, which shares the partitions out with the other
//! subscribers of the group, one worker task per partition that is read, and one acker task, which
//! writes answers down in groups.

mod acker;
mod buffer;
mod counts;
mod delivery;
mod share;
mod shared;
mod supervisor;
mod upkeep;
mod worker;

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::Stream;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::{acker::Acker, buffer::Buffer, shared::Shared, supervisor::Supervisor};
use super::{
    config::{Checked, SubscriptionConfig},
    handle::Inner,
    observe::{EventKind, StoreKind},
    store::SubscriberId,
};
use crate::{error::Result, telemetry::log_target::SUBSCRIBER};

pub use counts::SubscriptionReport;
pub use delivery::Delivery;

/// Reads topics. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Subscriber(pub(super) Arc<Inner>);

impl Subscriber {
    /// Reads a topic as one subscriber of a consumer group, which begins as
    /// [`start_from`](SubscriptionConfig::start_from) says when the topic does not know it yet. A
    /// topic need not have been published to.
    ///
    /// # Errors
    /// A setting that cannot be used, by its name; otherwise what the backend says.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn subscribe(
        &self,
        topic: impl AsRef<str>,
        config: SubscriptionConfig,
    ) -> Result<Subscription> {
        let checked = Arc::new(Checked::new(topic.as_ref(), config)?);
        let backend = self.0.backend.clone();
        let store = backend.inner.offsets();
        let call = store.register(&checked.topic, &checked.group, checked.config.start_from);
        let is_new = backend.timed(StoreKind::Offsets, "register", call).await?;
        tracing::info!(
            target: SUBSCRIBER,
            topic = %checked.topic, consumer_group = %checked.group,
            subscriber_name = %checked.subscriber, is_new_group = is_new,
            "subscribing"
        );
        let me = SubscriberId {
            name: checked.subscriber.clone(),
            instance: random(),
        };
        let (buffer, counts) = (Arc::<Buffer>::default(), Arc::default());
        let stopping = CancellationToken::new();
        let acker = Acker {
            backend: backend.clone(),
            checked: Arc::clone(&checked),
            counts: Arc::clone(&counts),
            buffer: Arc::clone(&buffer),
            stopping: stopping.clone(),
        };
        let shared = Arc::new(Shared {
            answers: acker.start(),
            backend,
            checked,
            me,
            buffer,
            counts,
            stopping,
        });
        Ok(Subscription::start(shared))
    }
}

/// The deliveries of one subscription, as a [`Stream`]. It ends when it is closed, by itself or
/// through a [`handle`](Subscription::handle), or when the backend is gone for good.
///
/// Dropping it closes it as well, without waiting.
#[must_use = "a subscription that is dropped is closed"]
pub struct Subscription {
    shared: Arc<Shared>,
    handle: SubscriptionHandle,
}

/// Closes a subscription from elsewhere. Cheap to clone.
#[derive(Clone)]
pub struct SubscriptionHandle {
    shared: Arc<Shared>,
    ended: watch::Receiver<bool>,
}

impl Subscription {
    fn start(shared: Arc<Shared>) -> Self {
        let (end, ended) = watch::channel(false);
        let supervisor = Supervisor::new(Arc::clone(&shared));
        let told = Arc::clone(&shared);
        tokio::spawn(async move {
            let error = supervisor.run().await;
            let report = told.counts.report();
            tracing::info!(
                target: SUBSCRIBER,
                topic = %told.checked.topic, consumer_group = %told.checked.group,
                subscriber_name = %told.me.name, ?report, failed = error.is_some(),
                "the subscription has ended"
            );
            end.send_replace(true);
        });
        let handle = SubscriptionHandle {
            shared: Arc::clone(&shared),
            ended,
        };
        Self { shared, handle }
    }

    /// A handle that can close the subscription while this reads on.
    #[must_use]
    pub fn handle(&self) -> SubscriptionHandle {
        self.handle.clone()
    }

    /// Closes the subscription and tells what it did. See [`SubscriptionHandle::close`].
    pub async fn close(self) -> SubscriptionReport {
        self.handle.clone().close().await
    }

    /// What the subscription did so far.
    #[must_use]
    pub fn report(&self) -> SubscriptionReport {
        self.shared.counts.report()
    }
}

impl SubscriptionHandle {
    /// Closes the subscription: workers stop, what was fetched and not handed out is given back,
    /// leases and heartbeat are removed, and the stream ends. Returns when all of that is done, and
    /// tells what the subscription did. Deliveries in hand may still be answered afterwards.
    pub async fn close(&self) -> SubscriptionReport {
        self.shared.stopping.cancel();
        self.ended().await
    }

    /// Begins to close the subscription, and does not wait.
    pub fn begin_close(&self) {
        self.shared.stopping.cancel();
    }

    /// Waits until the subscription has ended, and tells what it did.
    pub async fn ended(&self) -> SubscriptionReport {
        // It can only fail when the runtime is going down, and then it has ended too.
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
        self.shared.counts.report()
    }
}

impl Stream for Subscription {
    type Item = Delivery;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Delivery>> {
        self.shared.buffer.poll(cx).map(|ready| {
            let delivery = Delivery::new(Arc::clone(&self.shared), ready?);
            self.shared.counts.add(EventKind::Delivered, 1);
            let checked = &self.shared.checked;
            let partition = &delivery.message().partition;
            let (topic, group) = (&checked.topic, Some(&checked.group));
            let backend = &self.shared.backend;
            backend.happened(topic, group, partition, EventKind::Delivered, 1);
            Some(delivery)
        })
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.shared.stopping.cancel();
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.fmt(f)
    }
}

impl fmt::Debug for SubscriptionHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let checked = &self.shared.checked;
        f.debug_struct("Subscription")
            .field("topic", &checked.topic)
            .field("group", &checked.group)
            .field("subscriber", &self.shared.me)
            .field("ended", &*self.ended.borrow())
            .finish_non_exhaustive()
    }
}

/// A number that no other subscription or fetch has: the random half of a UUID.
fn random() -> u64 {
    uuid::Uuid::now_v7().as_u64_pair().1
}
