//! What a subscription does beside reading: it removes what is done with, and tells where its
//! partitions stand.

use std::{collections::HashSet, sync::Arc};

use tokio_util::task::TaskTracker;

use super::shared::Shared;
use crate::{
    error::Result,
    log::{
        names::PartitionKey,
        observe::{EventKind, PartitionFigures, StoreKind},
        store::{CollectRequest, Collected, PartitionOffsets},
    },
    telemetry::log_target::SUBSCRIBER,
};

/// How many looks at the partitions lie between two collections.
const COLLECT_EVERY: u32 = 10;
/// About how many messages are removed at once.
const COLLECT_AT_ONCE: usize = 1_000;

/// Does what is due at this pass, in a task of its own. The first subscriber of each group collects.
pub(super) fn run(
    shared: &Arc<Shared>,
    tracker: &TaskTracker,
    pass: u32,
    is_first: bool,
    partitions: &[PartitionOffsets],
    mine: &HashSet<PartitionKey>,
) {
    if pass % COLLECT_EVERY != COLLECT_EVERY - 1 {
        return;
    }
    if is_first {
        let shared = Arc::clone(shared);
        tracker.spawn(async move {
            if let Err(error) = collect(&shared).await {
                shared.warn("collect messages", &error);
            }
        });
    }
    if !shared.backend.observers.is_empty() {
        let read = partitions.iter().filter(|o| mine.contains(&o.partition));
        let read: Vec<_> = read.cloned().collect();
        let shared = Arc::clone(shared);
        tracker.spawn(async move {
            if let Err(error) = tell(&shared, &read).await {
                shared.warn("measure partitions", &error);
            }
        });
    }
}

async fn collect(shared: &Shared) -> Result<()> {
    let checked = &shared.checked;
    let request = CollectRequest {
        topic: checked.topic.clone(),
        retention: checked.config.retention,
        max: COLLECT_AT_ONCE,
    };
    let backend = &shared.backend;
    while !shared.stopping.is_cancelled() {
        let call = backend.inner.transactions().collect(&request);
        let collected = backend
            .timed(StoreKind::Transactions, "collect", call)
            .await?;
        say(shared, &collected);
        if !collected.has_more {
            break;
        }
    }
    Ok(())
}

fn say(shared: &Shared, collected: &Collected) {
    let topic = &shared.checked.topic;
    if collected.acked > 0 {
        tracing::debug!(
            target: SUBSCRIBER,
            %topic, messages = collected.acked, "collected what every group had acked"
        );
    }
    for expired in &collected.expired {
        let partition = &expired.partition;
        tracing::warn!(
            target: SUBSCRIBER,
            %topic, %partition, messages = expired.messages, unread_by = ?expired.groups,
            "retention removed messages"
        );
        let backend = &shared.backend;
        backend.happened(topic, None, partition, EventKind::Expired, expired.messages);
    }
}

async fn tell(shared: &Shared, read: &[PartitionOffsets]) -> Result<()> {
    let (topic, group) = (&shared.checked.topic, &shared.checked.group);
    let backend = &shared.backend;
    let behind: Vec<_> = read
        .iter()
        .filter(|offsets| offsets.lag() > 0)
        .map(|offsets| (offsets.partition.clone(), offsets.watermark))
        .collect();
    let mut ages = Vec::new();
    if !behind.is_empty() {
        let call = backend.inner.messages().ages(topic, &behind);
        ages = backend.timed(StoreKind::Messages, "ages", call).await?;
    }
    let mut ages = ages.into_iter();
    for offsets in read {
        let lag = offsets.lag();
        let age = if lag > 0 { ages.next().flatten() } else { None };
        let figures = PartitionFigures {
            topic,
            group,
            partition: &offsets.partition,
            lag,
            age: age.unwrap_or_default(),
        };
        backend.observers.tell(|observer| observer.stands(&figures));
    }
    Ok(())
}
