//! A backend that breaks one promise, whatever backend is inside.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use goqueue_core::{
    Result,
    driver::PageRequest,
    log::{
        GroupName, LogBackend, LogCapabilities, PartitionKey, Published, StartFrom, TopicName,
        store::{
            CollectRequest, Collected, Delivered, DeliveryState, DeliveryStateStore, Fetch,
            FetchRequest, GroupPartition, Heartbeat, LeaseInfo, LeaseRequest, LogTransactions,
            MessageStore, OffsetStore, OpenMessage, PartitionLeaseStore, PartitionOffsets,
            PublishRequest, Receipt, Settled, Settlement, SubscriberHeartbeatStore, SubscriberId,
            TopicInfo, Verdict,
        },
    },
};

use super::mutants::Quirk;

#[derive(Debug)]
pub(super) struct Quirky {
    inner: Arc<dyn LogBackend>,
    quirk: Quirk,
    memory: Mutex<Memory>,
}

/// What some quirks remember.
#[derive(Debug, Default)]
struct Memory {
    /// The last receipt of each message, for whoever asks.
    receipts: HashMap<(GroupPartition, u64), Receipt>,
    /// Offsets that are given out and not committed.
    hidden: HashSet<(PartitionKey, u64)>,
    /// Groups that are not registered yet.
    late: HashMap<(TopicName, GroupName), StartFrom>,
}

impl Quirky {
    pub(super) fn new(inner: Arc<dyn LogBackend>, quirk: Quirk) -> Self {
        Self {
            inner,
            quirk,
            memory: Mutex::default(),
        }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives messages their offsets before they are committed.
    pub(super) async fn hide(&self, request: &PublishRequest) -> Result<Vec<Published>> {
        let published = self.inner.transactions().publish(request).await?;
        let offsets = request.messages.iter().zip(&published);
        let hidden = offsets.map(|(message, p)| (message.partition.clone(), p.offset()));
        self.memory().hidden.extend(hidden);
        Ok(published)
    }

    /// Commits them, wherever the readers are by now.
    pub(super) fn show(&self) {
        self.memory().hidden.clear();
    }

    /// Registers a group that came before.
    async fn register_late(&self, topic: &TopicName, group: &GroupName) -> Result<()> {
        let late = self.memory().late.remove(&(topic.clone(), group.clone()));
        if let Some(start_from) = late {
            self.inner
                .offsets()
                .register(topic, group, start_from)
                .await?;
        }
        Ok(())
    }

    async fn settle_quietly(
        &self,
        request: &FetchRequest,
        taken: &[Delivered],
        verdict: &Verdict,
    ) -> Result<()> {
        let settlements: Vec<_> = taken
            .iter()
            .map(|delivered| Settlement {
                partition: request.at.partition.clone(),
                offset: delivered.message.offset,
                receipt: request.receipt,
                verdict: verdict.clone(),
            })
            .collect();
        let GroupPartition { topic, group, .. } = &request.at;
        self.inner
            .transactions()
            .settle(topic, group, &settlements)
            .await?;
        Ok(())
    }

    /// Takes only what lies within a batch behind the watermark, as a query with a limit does that
    /// filters afterwards.
    async fn within_window(
        &self,
        request: &FetchRequest,
        watermark: u64,
        taken: Vec<Delivered>,
    ) -> Result<Vec<Delivered>> {
        let last = watermark + request.max as u64;
        let (seen, unseen): (Vec<_>, Vec<_>) =
            taken.into_iter().partition(|d| d.message.offset <= last);
        self.settle_quietly(request, &unseen, &Verdict::Release)
            .await?;
        Ok(seen)
    }

    /// A reader goes past what is not committed.
    async fn past_hidden(
        &self,
        request: &FetchRequest,
        taken: Vec<Delivered>,
    ) -> Result<Vec<Delivered>> {
        let hidden = self.memory().hidden.clone();
        let (gone, seen): (Vec<_>, Vec<_>) = taken
            .into_iter()
            .partition(|d| hidden.contains(&(request.at.partition.clone(), d.message.offset)));
        self.settle_quietly(request, &gone, &Verdict::Ack).await?;
        Ok(seen)
    }

    async fn fetch_with(&self, request: &FetchRequest) -> Result<Fetch> {
        let mut request = request.clone();
        match self.quirk {
            Quirk::FetchesOneByOne => request.max = 1,
            Quirk::FetchesWithoutRoom => request.max *= 5,
            Quirk::IgnoresSerial => request.is_serial = false,
            Quirk::ForgetsVisibility => request.visibility = Duration::ZERO,
            _ => {}
        }
        let GroupPartition { topic, group, .. } = &request.at;
        let offsets = self.inner.offsets().partitions(topic, group).await?;
        let standing = offsets
            .into_iter()
            .find(|o| o.partition == request.at.partition);
        let fetched = self.inner.transactions().fetch(&request).await?;
        let Fetch::Taken(mut taken) = fetched else {
            return Ok(fetched);
        };
        match self.quirk {
            Quirk::FiltersAfterTheLimit => {
                let watermark = standing.map(|o| o.watermark).unwrap_or_default();
                taken = self.within_window(&request, watermark, taken).await?;
            }
            Quirk::NumbersBeforeTheCommit => taken = self.past_hidden(&request, taken).await?,
            Quirk::ReversesBatches => taken.reverse(),
            Quirk::ForgetsAttempts => taken.iter_mut().for_each(|d| d.attempt = 1),
            Quirk::LosesAMessage => taken.truncate(taken.len() - usize::from(taken.len() > 2)),
            _ => {}
        }
        let mut memory = self.memory();
        for delivered in &taken {
            let key = (request.at.clone(), delivered.message.offset);
            memory.receipts.insert(key, request.receipt);
        }
        drop(memory);
        Ok(Fetch::Taken(taken))
    }

    fn spoiled(&self, topic: &TopicName, group: &GroupName, item: &Settlement) -> Settlement {
        let mut item = item.clone();
        match (self.quirk, &mut item.verdict) {
            (Quirk::SettlesByOffset, _) => {
                let at = GroupPartition {
                    topic: topic.clone(),
                    group: group.clone(),
                    partition: item.partition.clone(),
                };
                if let Some(receipt) = self.memory().receipts.get(&(at, item.offset)) {
                    item.receipt = *receipt;
                }
            }
            (Quirk::NacksAtOnce, Verdict::Retry { delay, .. }) => *delay = Duration::ZERO,
            (Quirk::PostponesAsNack, Verdict::Postpone { delay }) => {
                let (delay, error) = (*delay, None);
                item.verdict = Verdict::Retry { delay, error };
            }
            (Quirk::ForgetsTheReason, Verdict::Dead(dead)) => dead.error.clear(),
            _ => {}
        }
        item
    }
}

#[async_trait]
impl LogTransactions for Quirky {
    async fn publish(&self, request: &PublishRequest) -> Result<Vec<Published>> {
        let mut published = self.inner.transactions().publish(request).await?;
        if self.quirk == Quirk::CallsDuplicatesStored {
            for one in &mut published {
                *one = Published::Stored {
                    offset: one.offset(),
                };
            }
        }
        Ok(published)
    }

    async fn fetch(&self, request: &FetchRequest) -> Result<Fetch> {
        self.register_late(&request.at.topic, &request.at.group)
            .await?;
        self.fetch_with(request).await
    }

    async fn settle(
        &self,
        topic: &TopicName,
        group: &GroupName,
        settlements: &[Settlement],
    ) -> Result<Vec<Settled>> {
        let spoiled = settlements
            .iter()
            .map(|item| self.spoiled(topic, group, item));
        let spoiled: Vec<_> = spoiled.collect();
        let transactions = self.inner.transactions();
        let settled = transactions.settle(topic, group, &spoiled).await?;
        if self.quirk == Quirk::MovesDeadLetters {
            for item in settlements {
                if matches!(item.verdict, Verdict::Dead(_)) {
                    transactions
                        .delete(topic, &item.partition, item.offset)
                        .await?;
                }
            }
        }
        Ok(settled)
    }

    async fn collect(&self, request: &CollectRequest) -> Result<Collected> {
        let mut request = request.clone();
        match self.quirk {
            Quirk::KeepsForEver => request.retention = None,
            Quirk::CollectsNothing => return Ok(Collected::default()),
            _ => {}
        }
        self.inner.transactions().collect(&request).await
    }

    async fn delete(&self, topic: &TopicName, at: &PartitionKey, offset: u64) -> Result<bool> {
        self.inner.transactions().delete(topic, at, offset).await
    }

    async fn purge(&self, topic: &TopicName) -> Result<u64> {
        self.inner.transactions().purge(topic).await
    }

    async fn requeue(
        &self,
        letters: &TopicName,
        partition: &PartitionKey,
        offsets: &[u64],
    ) -> Result<u64> {
        self.inner
            .transactions()
            .requeue(letters, partition, offsets)
            .await
    }

    async fn reset(&self, at: &GroupPartition, to: u64) -> Result<Option<u64>> {
        let to = if self.quirk == Quirk::ResetsToZero {
            0
        } else {
            to
        };
        self.inner.transactions().reset(at, to).await
    }
}

#[async_trait]
impl OffsetStore for Quirky {
    async fn register(
        &self,
        topic: &TopicName,
        group: &GroupName,
        start_from: StartFrom,
    ) -> Result<bool> {
        match self.quirk {
            Quirk::RegistersOnTheFirstFetch => {
                let key = (topic.clone(), group.clone());
                self.memory().late.insert(key, start_from);
                Ok(true)
            }
            Quirk::AlwaysStartsAtTheBeginning => {
                let beginning = StartFrom::Beginning;
                self.inner.offsets().register(topic, group, beginning).await
            }
            _ => {
                self.inner
                    .offsets()
                    .register(topic, group, start_from)
                    .await
            }
        }
    }

    async fn partitions(
        &self,
        topic: &TopicName,
        group: &GroupName,
    ) -> Result<Vec<PartitionOffsets>> {
        if self.quirk == Quirk::ScansMessages {
            let all = PageRequest::first(usize::MAX >> 1);
            self.inner.messages().list(topic, None, all).await?;
        }
        self.inner.offsets().partitions(topic, group).await
    }

    async fn topics(&self) -> Result<Vec<TopicInfo>> {
        self.inner.offsets().topics().await
    }

    async fn groups(&self, topic: &TopicName) -> Result<Vec<GroupName>> {
        self.inner.offsets().groups(topic).await
    }
}

#[async_trait]
impl DeliveryStateStore for Quirky {
    async fn extend(
        &self,
        topic: &TopicName,
        group: &GroupName,
        deliveries: &[OpenMessage],
        by: Duration,
    ) -> Result<Vec<Settled>> {
        if self.quirk == Quirk::NeverExtends {
            return Ok(vec![Settled::Done; deliveries.len()]);
        }
        self.inner
            .deliveries()
            .extend(topic, group, deliveries, by)
            .await
    }

    async fn of_message(
        &self,
        topic: &TopicName,
        partition: &PartitionKey,
        offset: u64,
    ) -> Result<Vec<(GroupName, DeliveryState)>> {
        self.inner
            .deliveries()
            .of_message(topic, partition, offset)
            .await
    }

    async fn open(&self, at: &GroupPartition, limit: usize) -> Result<Vec<DeliveryState>> {
        self.inner.deliveries().open(at, limit).await
    }
}

#[async_trait]
impl PartitionLeaseStore for Quirky {
    async fn acquire(&self, request: &LeaseRequest) -> Result<Vec<PartitionKey>> {
        self.register_late(&request.topic, &request.group).await?;
        self.inner.leases().acquire(request).await
    }

    async fn renew(&self, request: &LeaseRequest) -> Result<Vec<PartitionKey>> {
        self.inner.leases().renew(request).await
    }

    async fn release(
        &self,
        topic: &TopicName,
        group: &GroupName,
        subscriber: &SubscriberId,
        partitions: &[PartitionKey],
    ) -> Result<u64> {
        if self.quirk == Quirk::KeepsLeases {
            return Ok(partitions.len() as u64);
        }
        self.inner
            .leases()
            .release(topic, group, subscriber, partitions)
            .await
    }

    async fn list(
        &self,
        topic: Option<&TopicName>,
        group: Option<&GroupName>,
    ) -> Result<Vec<LeaseInfo>> {
        self.inner.leases().list(topic, group).await
    }

    async fn evict(&self, at: &GroupPartition) -> Result<bool> {
        self.inner.leases().evict(at).await
    }
}

#[async_trait]
impl SubscriberHeartbeatStore for Quirky {
    async fn beat(
        &self,
        topic: &TopicName,
        group: &GroupName,
        subscriber: &SubscriberId,
        valid_for: Duration,
    ) -> Result<()> {
        self.inner
            .heartbeats()
            .beat(topic, group, subscriber, valid_for)
            .await
    }

    async fn list(&self, topic: &TopicName, group: &GroupName) -> Result<Vec<Heartbeat>> {
        let mut listed = self.inner.heartbeats().list(topic, group).await?;
        if self.quirk == Quirk::SeesOnlyTheFirst {
            listed.truncate(1);
        }
        Ok(listed)
    }

    async fn remove(
        &self,
        topic: &TopicName,
        group: &GroupName,
        subscriber: &SubscriberId,
    ) -> Result<()> {
        self.inner
            .heartbeats()
            .remove(topic, group, subscriber)
            .await
    }

    async fn purge(
        &self,
        topic: &TopicName,
        group: &GroupName,
        dead_for: Duration,
    ) -> Result<Vec<SubscriberId>> {
        self.inner.heartbeats().purge(topic, group, dead_for).await
    }
}

#[async_trait]
impl LogBackend for Quirky {
    fn capabilities(&self) -> &LogCapabilities {
        self.inner.capabilities()
    }

    fn messages(&self) -> &dyn MessageStore {
        self.inner.messages()
    }

    fn deliveries(&self) -> &dyn DeliveryStateStore {
        self
    }

    fn offsets(&self) -> &dyn OffsetStore {
        self
    }

    fn leases(&self) -> &dyn PartitionLeaseStore {
        self
    }

    fn heartbeats(&self) -> &dyn SubscriberHeartbeatStore {
        self
    }

    fn transactions(&self) -> &dyn LogTransactions {
        self
    }

    async fn ping(&self) -> Result<()> {
        self.inner.ping().await
    }

    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}
