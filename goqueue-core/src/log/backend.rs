//! A backend with everyone who measures it.

use std::{future::Future, sync::Arc};

use tokio::time::Instant;
use tracing::Instrument;

use super::{
    names::{GroupName, PartitionKey, TopicName},
    observe::{EventKind, Observers, PartitionEvent, StoreCall, StoreKind},
    store::LogBackend,
};
use crate::{
    error::Result,
    telemetry::{log_target as target, span},
};

/// A backend whose calls are timed. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Backend {
    pub(crate) inner: Arc<dyn LogBackend>,
    pub(crate) observers: Observers,
}

/// A span of one store's target; a target has to be a constant.
macro_rules! store_span {
    ($target:path, $store:expr, $operation:expr) => {
        tracing::debug_span!(
            target: $target,
            span::LOG_STORE,
            store = $store.as_str(),
            operation = $operation
        )
    };
}

impl Backend {
    /// Times a call of one store and tells how it went.
    pub(crate) async fn timed<T>(
        &self,
        store: StoreKind,
        operation: &'static str,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let span = match store {
            StoreKind::Messages => store_span!(target::MESSAGE_STORE, store, operation),
            StoreKind::DeliveryState => {
                store_span!(target::DELIVERY_STATE_STORE, store, operation)
            }
            StoreKind::Offsets => store_span!(target::OFFSET_STORE, store, operation),
            StoreKind::PartitionLeases => {
                store_span!(target::PARTITION_LEASE_STORE, store, operation)
            }
            StoreKind::SubscriberHeartbeats => {
                store_span!(target::SUBSCRIBER_HEARTBEAT_STORE, store, operation)
            }
            StoreKind::Transactions => store_span!(target::TRANSACTIONS, store, operation),
        };
        let asked = Instant::now();
        let answer = call.instrument(span).await;
        let call = StoreCall {
            store,
            operation,
            elapsed: asked.elapsed(),
            is_ok: answer.is_ok(),
        };
        self.observers.tell(|observer| observer.store_call(&call));
        answer
    }

    pub(crate) fn happened(
        &self,
        topic: &TopicName,
        group: Option<&GroupName>,
        partition: &PartitionKey,
        kind: EventKind,
        count: u64,
    ) {
        if count == 0 {
            return;
        }
        let event = PartitionEvent {
            topic,
            group,
            partition,
            kind,
            count,
        };
        self.observers.tell(|observer| observer.happened(&event));
    }
}
