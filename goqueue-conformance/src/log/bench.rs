//! What the cases work with.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::StreamExt;
use goqueue_core::log::{
    Delivery, GroupName, Log, LogBackend, Message, NewMessage, PartitionKey, Published,
    SubscriberName, Subscription, SubscriptionConfig, TopicName,
    store::{
        Delivered, Fetch, FetchRequest, GroupPartition, LeaseRequest, PartitionOffsets, Receipt,
        Settled, Settlement, SubscriberId, Verdict,
    },
};
use tokio::time::{Instant, timeout};

use super::harness::LogHarness;
use crate::{check::promise, harness::Store};

/// The topic that cases publish to.
pub(super) const TOPIC: &str = "orders";
/// The topic of its dead letters.
pub(super) const LETTERS: &str = "orders_dlq";

pub(super) struct Bench<'h> {
    pub(super) h: &'h dyn LogHarness,
    pub(super) store: Store,
    pub(super) backend: Arc<dyn LogBackend>,
    pub(super) log: Log,
}

pub(super) fn topic() -> TopicName {
    TopicName::new(TOPIC).expect("a topic")
}

pub(super) fn letters() -> TopicName {
    TopicName::new(LETTERS).expect("a topic")
}

pub(super) fn group(name: &str) -> GroupName {
    GroupName::new(name).expect("a group")
}

pub(super) fn key(name: &str) -> PartitionKey {
    PartitionKey::new(name).expect("a partition key")
}

pub(super) fn message(id: &str, partition: &str) -> NewMessage {
    NewMessage::new(id, format!("payload of {id}"), partition)
}

/// The id of a delivery's message.
pub(super) fn id(delivery: &Delivery) -> &str {
    delivery.message().id.as_str()
}

pub(super) fn ids<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<String> {
    messages
        .into_iter()
        .map(|m| m.id.as_str().to_owned())
        .collect()
}

impl<'h> Bench<'h> {
    pub(super) async fn new(h: &'h dyn LogHarness) -> Self {
        Self::on(h, h.store().await).await
    }

    pub(super) async fn on(h: &'h dyn LogHarness, store: Store) -> Self {
        let backend = h.connect(&store).await;
        let log = Log::from_shared(Arc::clone(&backend));
        Self {
            h,
            store,
            backend,
            log,
        }
    }

    /// One more handle to the log.
    pub(super) async fn another(&self) -> Log {
        Log::from_shared(self.h.connect(&self.store).await)
    }

    pub(super) fn lease(&self) -> Duration {
        self.h.timing().lease
    }

    /// How long anything that has to happen is waited for.
    pub(super) fn patience(&self) -> Duration {
        let timing = self.h.timing();
        timing.lease * 8 + timing.tolerance * 10
    }

    pub(super) async fn elapse(&self, time: Duration) {
        self.h.elapse(time).await;
    }

    /// A subscription in the case's time scale, whose messages stay invisible for a lease.
    pub(super) fn config(&self, subscriber: &str, group: &str) -> SubscriptionConfig {
        let lease = self.lease();
        let mut config = SubscriptionConfig::new(subscriber, group);
        config.poll_interval = Duration::from_millis(20);
        config.partition_discovery_interval = lease / 20;
        config.visibility_timeout = lease;
        config.lease_duration = lease;
        config.lease_renewal_interval = lease / 4;
        config.retry.initial_backoff = lease / 10;
        config.retry.max_backoff = lease;
        config
    }

    pub(super) async fn subscribe(&self, config: SubscriptionConfig) -> Subscription {
        subscribe(&self.log, config).await
    }

    /// Publishes one message after the other into one partition.
    pub(super) async fn publish(&self, partition: &str, ids: &[&str]) -> Vec<Published> {
        let messages = ids.iter().map(|id| message(id, partition));
        let published = self.log.publish(TOPIC, messages).await;
        published.unwrap_or_else(|error| panic!("publishing failed: {error}"))
    }

    /// `count` messages `0`, `1`, … in one partition.
    pub(super) async fn publish_many(&self, partition: &str, count: usize) {
        let messages = (0..count).map(|n| message(&n.to_string(), partition));
        let published = self.log.publish(TOPIC, messages).await;
        published.unwrap_or_else(|error| panic!("publishing failed: {error}"));
    }

    /// The next delivery, which has to come.
    pub(super) async fn next(&self, subscription: &mut Subscription) -> Delivery {
        let patience = self.patience();
        match timeout(patience, subscription.next()).await {
            Ok(Some(delivery)) => delivery,
            Ok(None) => panic!("expected: a delivery\nhappened: the stream ended"),
            Err(_) => panic!("expected: a delivery\nhappened: none within {patience:?}"),
        }
    }

    pub(super) async fn take(&self, from: &mut Subscription, count: usize) -> Vec<Delivery> {
        let mut taken = Vec::with_capacity(count);
        for _ in 0..count {
            taken.push(self.next(from).await);
        }
        taken
    }

    /// Requires that nothing is delivered for a while.
    pub(super) async fn nothing(&self, from: &mut Subscription, time: Duration, why: &str) {
        if let Ok(Some(delivery)) = timeout(time, from.next()).await {
            promise!(false, "nothing is delivered for {time:?}: {why}"; "{delivery:?}");
        }
    }

    /// Where a group stands on a partition.
    pub(super) async fn offsets(&self, group: &str, partition: &str) -> PartitionOffsets {
        let store = self.backend.offsets();
        let offsets = store.partitions(&topic(), &self::group(group)).await;
        let offsets = offsets.unwrap_or_else(|error| panic!("no offsets: {error}"));
        let wanted = offsets
            .into_iter()
            .find(|o| o.partition.as_str() == partition);
        wanted.unwrap_or_else(|| panic!("there is no partition `{partition}`"))
    }

    /// Waits until a group has acked everything in a partition.
    pub(super) async fn drained(&self, group: &str, partition: &str) {
        self.until("everything is acked", async || {
            self.offsets(group, partition).await.lag() == 0
        })
        .await;
    }

    /// Waits for a condition.
    pub(super) async fn until(&self, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
        let patience = self.patience();
        let deadline = Instant::now() + patience;
        while !is_so().await {
            promise!(Instant::now() < deadline, "within {patience:?}, {what}"; "it did not happen");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// How many partitions each subscriber of a group has, by name.
    pub(super) async fn shares(&self, group: &str) -> BTreeMap<String, usize> {
        let leases = self.backend.leases();
        let leases = leases.list(Some(&topic()), Some(&self::group(group))).await;
        let mut shares = BTreeMap::new();
        for lease in leases.unwrap_or_else(|error| panic!("no leases: {error}")) {
            if lease.is_held() {
                *shares
                    .entry(lease.subscriber.name.as_str().to_owned())
                    .or_default() += 1;
            }
        }
        shares
    }

    /// The messages of a topic.
    pub(super) async fn stored(&self, topic: &TopicName) -> Vec<Message> {
        let page = goqueue_core::driver::PageRequest::first(10_000);
        let page = self.log.admin().messages(topic, None, page).await;
        page.unwrap_or_else(|error| panic!("no messages: {error}"))
            .items
    }

    /// A subscriber by hand, with a lease on one partition.
    pub(super) async fn hand(&self, name: &str, group: &str, partition: &str) -> Hand {
        let hand = Hand {
            backend: Arc::clone(&self.backend),
            at: GroupPartition {
                topic: topic(),
                group: self::group(group),
                partition: key(partition),
            },
            subscriber: SubscriberId {
                name: SubscriberName::new(name).expect("a name"),
                instance: fresh(),
            },
            lease: self.lease(),
        };
        let store = self.backend.offsets();
        let registered = store
            .register(&hand.at.topic, &hand.at.group, Default::default())
            .await;
        registered.unwrap_or_else(|error| panic!("no group: {error}"));
        hand
    }
}

pub(super) async fn subscribe(log: &Log, config: SubscriptionConfig) -> Subscription {
    let subscription = log.subscribe(TOPIC, config).await;
    subscription.unwrap_or_else(|error| panic!("subscribing failed: {error}"))
}

/// A number that was not used before.
fn fresh() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static LAST: AtomicU64 = AtomicU64::new(1 << 32);
    LAST.fetch_add(1, Ordering::Relaxed)
}

/// A subscriber that does nothing by itself, as one that crashes or is held up does.
pub(super) struct Hand {
    backend: Arc<dyn LogBackend>,
    pub(super) at: GroupPartition,
    pub(super) subscriber: SubscriberId,
    lease: Duration,
}

/// A message in hand.
#[derive(Clone, Debug)]
pub(super) struct InHand {
    pub(super) delivered: Delivered,
    pub(super) receipt: Receipt,
}

impl InHand {
    pub(super) fn id(&self) -> &str {
        self.delivered.message.id.as_str()
    }
}

impl Hand {
    /// Takes the partition's lease; answers whether it could.
    pub(super) async fn acquire(&self) -> bool {
        let request = LeaseRequest {
            topic: self.at.topic.clone(),
            group: self.at.group.clone(),
            subscriber: self.subscriber.clone(),
            partitions: vec![self.at.partition.clone()],
            duration: self.lease,
        };
        let acquired = self.backend.leases().acquire(&request).await;
        !acquired
            .unwrap_or_else(|error| panic!("no lease: {error}"))
            .is_empty()
    }

    pub(super) async fn release(&self) {
        let (Self { backend, at, .. }, partitions) = (self, [self.at.partition.clone()]);
        let leases = backend.leases();
        let released = leases
            .release(&at.topic, &at.group, &self.subscriber, &partitions)
            .await;
        released.unwrap_or_else(|error| panic!("no release: {error}"));
    }

    /// Takes messages that stay invisible for a lease; `None` without the lease.
    pub(super) async fn fetch(&self, max: usize) -> Option<Vec<InHand>> {
        self.fetch_as(max, false).await
    }

    pub(super) async fn fetch_as(&self, max: usize, is_serial: bool) -> Option<Vec<InHand>> {
        let request = FetchRequest {
            at: self.at.clone(),
            subscriber: self.subscriber.clone(),
            max,
            visibility: self.lease,
            is_serial,
            receipt: Receipt(fresh()),
        };
        let fetched = self.backend.transactions().fetch(&request).await;
        match fetched.unwrap_or_else(|error| panic!("no fetch: {error}")) {
            Fetch::LeaseLost => None,
            Fetch::Taken(taken) => {
                let in_hand = taken.into_iter().map(|delivered| InHand {
                    delivered,
                    receipt: request.receipt,
                });
                Some(in_hand.collect())
            }
        }
    }

    /// Takes messages; the lease is there.
    pub(super) async fn take(&self, max: usize) -> Vec<InHand> {
        self.fetch(max)
            .await
            .unwrap_or_else(|| panic!("expected: the lease holds\nhappened: it is lost"))
    }

    pub(super) async fn settle(&self, item: &InHand, verdict: Verdict) -> Settled {
        let settlement = Settlement {
            partition: self.at.partition.clone(),
            offset: item.delivered.message.offset,
            receipt: item.receipt,
            verdict,
        };
        let Self { backend, at, .. } = self;
        let settled = backend
            .transactions()
            .settle(&at.topic, &at.group, &[settlement])
            .await;
        settled.unwrap_or_else(|error| panic!("no settlement: {error}"))[0]
    }

    pub(super) async fn ack(&self, item: &InHand) -> Settled {
        self.settle(item, Verdict::Ack).await
    }
}
