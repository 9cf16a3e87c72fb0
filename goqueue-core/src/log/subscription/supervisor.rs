//! The one task per subscription that says which partitions it reads.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    select,
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    share::{Plan, Sharer, View},
    shared::Shared,
    upkeep,
    worker::Worker,
};
use crate::{
    error::{Error, Result},
    log::{
        names::PartitionKey,
        observe::StoreKind,
        store::{Heartbeat, LeaseInfo, LeaseRequest},
    },
    telemetry::log_target::SUBSCRIBER,
};

/// How long a worker that was told to stop is waited for before anybody is told.
const STOP_WAIT: Duration = Duration::from_secs(30);
/// How long a backend is waited for while the subscription ends.
const FAREWELL: Duration = Duration::from_secs(5);

pub(super) struct Supervisor {
    shared: Arc<Shared>,
    workers: HashMap<PartitionKey, Running>,
    /// Stopped, and not released yet.
    leaving: Arc<Mutex<HashSet<PartitionKey>>>,
    sharer: Sharer,
    /// Every worker there ever was.
    tracker: TaskTracker,
    /// Those who wait for workers to stop.
    stoppers: TaskTracker,
    passes: u32,
}

struct Running {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Supervisor {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            sharer: Sharer::new(shared.checked.config.lease_duration),
            shared,
            workers: HashMap::new(),
            leaving: Arc::default(),
            tracker: TaskTracker::new(),
            stoppers: TaskTracker::new(),
            passes: 0,
        }
    }

    /// Runs until the subscription is closed, or an error that nobody can wait out.
    pub(super) async fn run(mut self) -> Option<Error> {
        let config = &self.shared.checked.config;
        let mut discover = interval(config.partition_discovery_interval);
        let mut renew = interval(config.lease_renewal_interval);
        discover.set_missed_tick_behavior(MissedTickBehavior::Delay);
        renew.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let stopping = self.shared.stopping.clone();
        let error = loop {
            let (doing, done) = select! {
                biased;
                () = stopping.cancelled() => break None,
                _ = renew.tick() => ("renew leases", self.renew().await),
                _ = discover.tick() => ("share partitions out", self.discover().await),
            };
            if let Err(error) = done {
                if error.is_fatal() {
                    self.end_aloud(&error);
                    break Some(error);
                }
                self.shared.warn(doing, &error);
            }
        };
        self.wind_down().await;
        error
    }

    fn end_aloud(&self, error: &Error) {
        tracing::error!(
            target: SUBSCRIBER,
            topic = %self.shared.checked.topic, consumer_group = %self.shared.checked.group,
            subscriber_name = %self.shared.me.name, %error,
            "the subscription ends"
        );
        self.shared.stopping.cancel();
    }

    /// Says that the subscriber is there, looks who else is and what there is to read, and takes and
    /// gives up partitions accordingly.
    async fn discover(&mut self) -> Result<()> {
        self.reap();
        self.beat().await?;
        let shared = Arc::clone(&self.shared);
        let (topic, group) = (&shared.checked.topic, &shared.checked.group);
        let backend = &shared.backend;
        let roster = self.roster().await?;
        let call = backend.inner.offsets().partitions(topic, group);
        let partitions = backend
            .timed(StoreKind::Offsets, "partitions", call)
            .await?;
        let call = backend.inner.leases().list(Some(topic), Some(group));
        let leases = backend
            .timed(StoreKind::PartitionLeases, "list", call)
            .await?;
        let mine: HashSet<_> = self.workers.keys().cloned().collect();
        let leaving = self.leaving().clone();
        let view = View {
            partitions: &partitions,
            leases: &leases,
            roster: &roster,
            me: &shared.me,
            mine: &mine,
            leaving: &leaving,
        };
        let plan = self.sharer.plan(&view, Instant::now());
        self.follow(plan).await?;
        let is_first = roster.first() == Some(&shared.me);
        upkeep::run(
            &shared,
            &self.tracker,
            self.passes,
            is_first,
            &partitions,
            &mine,
        );
        self.passes = self.passes.wrapping_add(1);
        Ok(())
    }

    async fn follow(&mut self, plan: Plan) -> Result<()> {
        self.say(&plan);
        self.stop([plan.excess, plan.idle].concat());
        if !plan.stray.is_empty() {
            release(&self.shared, &plan.stray).await?;
        }
        if plan.claim.is_empty() {
            return Ok(());
        }
        let request = self.request(plan.claim);
        let backend = &self.shared.backend;
        let call = backend.inner.leases().acquire(&request);
        let acquired = backend
            .timed(StoreKind::PartitionLeases, "acquire", call)
            .await?;
        let orphans = plan.orphans.into_iter().filter(|p| acquired.contains(p));
        self.sharer.adopt(orphans, Instant::now());
        for partition in acquired {
            self.start(partition);
        }
        Ok(())
    }

    fn say(&self, plan: &Plan) {
        if plan == &Plan::default() {
            return;
        }
        tracing::debug!(
            target: SUBSCRIBER,
            topic = %self.shared.checked.topic, consumer_group = %self.shared.checked.group,
            subscriber_name = %self.shared.me.name, has = self.workers.len(),
            claims = plan.claim.len(), orphans = plan.orphans.len(), excess = plan.excess.len(),
            idle = plan.idle.len(), stray = plan.stray.len(),
            "sharing partitions out"
        );
    }

    /// The subscribers that are alive; those that died are forgotten.
    async fn roster(&self) -> Result<Vec<crate::log::store::SubscriberId>> {
        let (backend, checked) = (&self.shared.backend, &self.shared.checked);
        let (topic, group) = (&checked.topic, &checked.group);
        let store = backend.inner.heartbeats();
        let call = store.list(topic, group);
        let listed = backend
            .timed(StoreKind::SubscriberHeartbeats, "list", call)
            .await?;
        if listed.iter().any(|heartbeat| !heartbeat.is_alive) {
            self.release_leases_of_the_dead(&listed).await?;
            let call = store.purge(topic, group, checked.config.lease_duration);
            let dead = backend
                .timed(StoreKind::SubscriberHeartbeats, "purge", call)
                .await?;
            for subscriber in dead {
                tracing::info!(
                    target: SUBSCRIBER,
                    %topic, consumer_group = %group, %subscriber, "a subscriber died"
                );
            }
        }
        let mut alive: Vec<_> = listed
            .into_iter()
            .filter_map(|heartbeat| heartbeat.is_alive.then_some(heartbeat.subscriber))
            .collect();
        alive.sort_unstable();
        Ok(alive)
    }

    /// Removes the leases that dead subscribers left on partitions that nobody has taken since:
    /// drained ones are taken by nobody.
    async fn release_leases_of_the_dead(&self, listed: &[Heartbeat]) -> Result<()> {
        let (backend, checked) = (&self.shared.backend, &self.shared.checked);
        let (topic, group) = (&checked.topic, &checked.group);
        let store = backend.inner.leases();
        let call = store.list(Some(topic), Some(group));
        let leases = backend
            .timed(StoreKind::PartitionLeases, "list", call)
            .await?;
        for heartbeat in listed.iter().filter(|heartbeat| !heartbeat.is_alive) {
            let left =
                |lease: &&LeaseInfo| !lease.is_held() && lease.subscriber == heartbeat.subscriber;
            let left = leases.iter().filter(left);
            let partitions: Vec<_> = left.map(|lease| lease.at.partition.clone()).collect();
            if !partitions.is_empty() {
                let call = store.release(topic, group, &heartbeat.subscriber, &partitions);
                backend
                    .timed(StoreKind::PartitionLeases, "release", call)
                    .await?;
            }
        }
        Ok(())
    }

    async fn beat(&self) -> Result<()> {
        let (backend, checked) = (&self.shared.backend, &self.shared.checked);
        let config = &checked.config;
        let valid_for = config
            .lease_duration
            .max(config.partition_discovery_interval * 3);
        let store = backend.inner.heartbeats();
        let call = store.beat(&checked.topic, &checked.group, &self.shared.me, valid_for);
        backend
            .timed(StoreKind::SubscriberHeartbeats, "beat", call)
            .await
    }

    async fn renew(&mut self) -> Result<()> {
        if self.workers.is_empty() {
            return Ok(());
        }
        let request = self.request(self.workers.keys().cloned().collect());
        let backend = &self.shared.backend;
        let call = backend.inner.leases().renew(&request);
        let renewed = backend
            .timed(StoreKind::PartitionLeases, "renew", call)
            .await?;
        let renewed: HashSet<_> = renewed.into_iter().collect();
        let mut lost = request.partitions;
        lost.retain(|partition| !renewed.contains(partition));
        if !lost.is_empty() {
            tracing::warn!(
                target: SUBSCRIBER,
                topic = %self.shared.checked.topic, consumer_group = %self.shared.checked.group,
                subscriber_name = %self.shared.me.name, partitions = lost.len(),
                "leases are lost"
            );
            self.stop(lost);
        }
        Ok(())
    }

    fn request(&self, partitions: Vec<PartitionKey>) -> LeaseRequest {
        let checked = &self.shared.checked;
        LeaseRequest {
            topic: checked.topic.clone(),
            group: checked.group.clone(),
            subscriber: self.shared.me.clone(),
            partitions,
            duration: checked.config.lease_duration,
        }
    }

    fn start(&mut self, partition: PartitionKey) {
        if self.workers.contains_key(&partition) {
            return;
        }
        let stop = CancellationToken::new();
        let worker = Worker::new(Arc::clone(&self.shared), partition.clone(), stop.clone());
        let task = self.tracker.spawn(worker.run());
        self.workers.insert(partition, Running { stop, task });
    }

    /// Forgets workers that ended by themselves.
    fn reap(&mut self) {
        self.workers
            .retain(|_, running| !running.task.is_finished());
    }

    /// Stops workers. Nobody waits for them here: a slow one delays no other partition. Their leases
    /// are released once they are gone.
    fn stop(&mut self, partitions: Vec<PartitionKey>) {
        for partition in partitions {
            let Some(running) = self.workers.remove(&partition) else {
                continue;
            };
            running.stop.cancel();
            self.leaving().insert(partition.clone());
            let (shared, leaving) = (Arc::clone(&self.shared), Arc::clone(&self.leaving));
            self.stoppers.spawn(async move {
                gone(&shared, &partition, running.task).await;
                if let Err(error) = release(&shared, std::slice::from_ref(&partition)).await {
                    shared.warn("release a lease", &error);
                }
                lock(&leaving).remove(&partition);
            });
        }
    }

    /// The end, in order: workers stop, leases go, the heartbeat goes, every worker has exited, the
    /// stream ends.
    async fn wind_down(mut self) {
        let partitions: Vec<_> = self.workers.keys().cloned().collect();
        let running: Vec<_> = self.workers.drain().collect();
        for (_, running) in &running {
            running.stop.cancel();
        }
        let shared = &self.shared;
        let stopped = running
            .into_iter()
            .map(|(p, r)| async move { gone(shared, &p, r.task).await });
        futures_util::future::join_all(stopped).await;
        if !partitions.is_empty() {
            farewell(shared, "release leases", release(shared, &partitions)).await;
        }
        self.stoppers.close();
        if timeout(STOP_WAIT, self.stoppers.wait()).await.is_err() {
            tracing::warn!(target: SUBSCRIBER, "leases could not be released in time");
        }
        farewell(shared, "remove the heartbeat", forget(shared)).await;
        self.tracker.close();
        self.tracker.wait().await;
        shared.buffer.close();
    }

    fn leaving(&self) -> MutexGuard<'_, HashSet<PartitionKey>> {
        lock(&self.leaving)
    }
}

fn lock(leaving: &Mutex<HashSet<PartitionKey>>) -> MutexGuard<'_, HashSet<PartitionKey>> {
    leaving.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a worker that was told to stop, but not for ever.
async fn gone(shared: &Shared, partition: &PartitionKey, task: JoinHandle<()>) {
    if timeout(STOP_WAIT, task).await.is_err() {
        tracing::warn!(
            target: SUBSCRIBER,
            topic = %shared.checked.topic, consumer_group = %shared.checked.group,
            subscriber_name = %shared.me.name, %partition,
            "a worker does not stop; its lease is released all the same"
        );
    }
}

async fn release(shared: &Shared, partitions: &[PartitionKey]) -> Result<()> {
    let (topic, group) = (&shared.checked.topic, &shared.checked.group);
    let store = shared.backend.inner.leases();
    let call = store.release(topic, group, &shared.me, partitions);
    shared
        .backend
        .timed(StoreKind::PartitionLeases, "release", call)
        .await?;
    Ok(())
}

async fn forget(shared: &Shared) -> Result<()> {
    let (topic, group) = (&shared.checked.topic, &shared.checked.group);
    let store = shared.backend.inner.heartbeats();
    let call = store.remove(topic, group, &shared.me);
    shared
        .backend
        .timed(StoreKind::SubscriberHeartbeats, "remove", call)
        .await
}

/// Does what can be done without when the backend is gone: leases and heartbeats run out.
async fn farewell(shared: &Shared, doing: &'static str, call: impl Future<Output = Result<()>>) {
    match timeout(FAREWELL, call).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => shared.warn_last(doing, &error),
        Err(_) => shared.warn_last(doing, &"no answer in time"),
    }
}
