//! Who reads what: the arithmetic of a group's fair share, without any I/O.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use tokio::time::Instant;

use crate::log::{
    names::PartitionKey,
    store::{LeaseInfo, PartitionOffsets, SubscriberId},
};

/// How many lease durations a partition that was claimed beyond the cap is kept before arithmetic
/// gets another chance with the same subscribers.
const ADOPTED_FOR: u32 = 10;
/// How many lease durations a drained partition keeps its reader.
const IDLE_AFTER: u32 = 2;

/// How many of `partitions` the subscriber of this rank may have. Over all ranks the caps sum to
/// exactly `partitions`, and no two differ by more than one.
pub(super) fn cap(partitions: usize, subscribers: usize, rank: usize) -> usize {
    if subscribers == 0 {
        return 0;
    }
    partitions / subscribers + usize::from(rank < partitions % subscribers)
}

/// What one subscriber sees of its group.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) partitions: &'a [PartitionOffsets],
    pub(super) leases: &'a [LeaseInfo],
    /// The subscribers that are alive, in order.
    pub(super) roster: &'a [SubscriberId],
    pub(super) me: &'a SubscriberId,
    /// What this subscriber reads.
    pub(super) mine: &'a HashSet<PartitionKey>,
    /// What it is about to give up.
    pub(super) leaving: &'a HashSet<PartitionKey>,
}

/// What one subscriber should do next.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Partitions to take.
    pub(super) claim: Vec<PartitionKey>,
    /// Partitions to give up, as others are to have them.
    pub(super) excess: Vec<PartitionKey>,
    /// Partitions to give up, as there is nothing to do.
    pub(super) idle: Vec<PartitionKey>,
    /// Leases that are this subscriber's by name, with no reader, and are to be removed.
    pub(super) stray: Vec<PartitionKey>,
    /// Partitions of `claim` that nobody came for.
    pub(super) orphans: Vec<PartitionKey>,
}

/// What one subscriber remembers between two looks.
#[derive(Debug)]
pub(super) struct Sharer {
    lease: Duration,
    seen: HashMap<PartitionKey, Seen>,
    /// Claimed beyond the cap.
    adopted: HashMap<PartitionKey, Instant>,
    roster: Vec<SubscriberId>,
}

#[derive(Debug)]
struct Seen {
    head: u64,
    /// When something was last published or not yet acked.
    active_at: Instant,
    /// Since when nobody has it.
    free_since: Option<Instant>,
}

impl Sharer {
    pub(super) fn new(lease: Duration) -> Self {
        Self {
            lease,
            seen: HashMap::new(),
            adopted: HashMap::new(),
            roster: Vec::new(),
        }
    }

    /// What to do, given what is seen.
    pub(super) fn plan(&mut self, view: &View<'_>, now: Instant) -> Plan {
        let held = held(view.leases);
        let active = self.look(view, &held, now);
        let Some(rank) = view.roster.iter().position(|s| s == view.me) else {
            // Not heard of yet: wait for the next look.
            return Plan::default();
        };
        self.forget_adopted(view, now);
        let cap = cap(active.len(), view.roster.len(), rank);
        let is_active: HashSet<_> = active.iter().copied().collect();
        let mut plan = Plan {
            idle: sorted(view.mine.iter().filter(|p| !is_active.contains(p))),
            ..Plan::default()
        };
        let kept = view.mine.len() - plan.idle.len();
        plan.excess = self.excess(view, &is_active, kept, cap);
        let kept = kept - plan.excess.len();
        let is_taken = |p: &PartitionKey| {
            held.get(p).is_some_and(|holder| *holder != view.me)
                || view.mine.contains(p)
                || view.leaving.contains(p)
        };
        let free: Vec<_> = active.into_iter().filter(|p| !is_taken(p)).collect();
        let free = rotated(free, rank, view.roster.len());
        let room = cap.saturating_sub(kept);
        plan.claim = free.iter().take(room).map(|p| (*p).clone()).collect();
        self.sweep(&free, &mut plan, view.roster.len(), now);
        plan.stray = strays(view, &plan.claim);
        plan
    }

    /// Notes what is seen and answers which partitions are there to be shared out.
    fn look<'v>(
        &mut self,
        view: &View<'v>,
        held: &HashMap<&'v PartitionKey, &'v SubscriberId>,
        now: Instant,
    ) -> Vec<&'v PartitionKey> {
        let idle_after = self.lease * IDLE_AFTER;
        let mut active = Vec::new();
        let mut seen = HashMap::with_capacity(view.partitions.len());
        for offsets in view.partitions {
            let partition = &offsets.partition;
            let before = self.seen.remove(partition);
            let is_held = held.contains_key(partition);
            let is_busy = match &before {
                Some(before) => before.head != offsets.head,
                // Somebody reads it, so it was busy not long ago.
                None => is_held,
            };
            let active_at = match &before {
                _ if is_busy || offsets.lag() > 0 => Some(now),
                Some(before) => Some(before.active_at),
                None => now.checked_sub(idle_after),
            };
            let active_at = active_at.unwrap_or(now);
            let is_free = !is_held && !view.mine.contains(partition);
            let free_since = before.and_then(|before| before.free_since).unwrap_or(now);
            if now.duration_since(active_at) < idle_after {
                active.push(partition);
            }
            let entry = Seen {
                head: offsets.head,
                active_at,
                free_since: is_free.then_some(free_since),
            };
            seen.insert(partition.clone(), entry);
        }
        self.seen = seen;
        active
    }

    fn forget_adopted(&mut self, view: &View<'_>, now: Instant) {
        if self.roster != view.roster {
            self.roster = view.roster.to_vec();
            self.adopted.clear();
        }
        let longest = self.lease * ADOPTED_FOR;
        self.adopted.retain(|partition, since| {
            view.mine.contains(partition) && now.duration_since(*since) < longest
        });
    }

    /// What is beyond the cap. Those with the least to do go first.
    fn excess(
        &self,
        view: &View<'_>,
        active: &HashSet<&PartitionKey>,
        kept: usize,
        cap: usize,
    ) -> Vec<PartitionKey> {
        let count = kept.saturating_sub(cap + self.adopted.len());
        if count == 0 {
            return Vec::new();
        }
        let lags: HashMap<_, _> = view
            .partitions
            .iter()
            .map(|o| (&o.partition, o.lag()))
            .collect();
        let mut candidates: Vec<_> = view
            .mine
            .iter()
            .filter(|p| active.contains(p) && !self.adopted.contains_key(*p))
            .collect();
        candidates.sort_by_key(|p| (lags.get(p).copied().unwrap_or_default(), *p));
        candidates.into_iter().take(count).cloned().collect()
    }

    /// Claims what nobody came for in a lease's time, whatever the cap says: a part of it, since the
    /// others sweep as well.
    fn sweep(&self, free: &[&PartitionKey], plan: &mut Plan, subscribers: usize, now: Instant) {
        let is_orphan = |partition: &&&PartitionKey| {
            let seen = self.seen.get(**partition).and_then(|seen| seen.free_since);
            seen.is_some_and(|since| now.duration_since(since) >= self.lease)
        };
        let orphans: Vec<_> = free
            .iter()
            .skip(plan.claim.len())
            .filter(is_orphan)
            .map(|p| (*p).clone())
            .collect();
        let part = orphans.len().div_ceil(subscribers.max(1));
        plan.orphans = orphans.into_iter().take(part).collect();
        plan.claim.extend(plan.orphans.iter().cloned());
    }

    /// Notes which orphans were claimed.
    pub(super) fn adopt(
        &mut self,
        partitions: impl IntoIterator<Item = PartitionKey>,
        now: Instant,
    ) {
        self.adopted
            .extend(partitions.into_iter().map(|p| (p, now)));
    }
}

fn held(leases: &[LeaseInfo]) -> HashMap<&PartitionKey, &SubscriberId> {
    leases
        .iter()
        .filter(|lease| lease.is_held())
        .map(|lease| (&lease.at.partition, &lease.subscriber))
        .collect()
}

fn sorted<'a>(partitions: impl Iterator<Item = &'a PartitionKey>) -> Vec<PartitionKey> {
    let mut partitions: Vec<_> = partitions.cloned().collect();
    partitions.sort_unstable();
    partitions
}

/// Starts each rank at another place, so that those who claim at once seldom claim the same.
fn rotated(mut partitions: Vec<&PartitionKey>, rank: usize, ranks: usize) -> Vec<&PartitionKey> {
    let start = rank * partitions.len() / ranks.max(1);
    partitions.rotate_left(start);
    partitions
}

/// The subscriber's own leases that it has no reader for: an answer that was lost, mostly.
fn strays(view: &View<'_>, claim: &[PartitionKey]) -> Vec<PartitionKey> {
    let is_stray = |lease: &&LeaseInfo| {
        let partition = &lease.at.partition;
        lease.subscriber == *view.me
            && !view.mine.contains(partition)
            && !view.leaving.contains(partition)
            && !claim.contains(partition)
    };
    sorted(
        view.leases
            .iter()
            .filter(is_stray)
            .map(|lease| &lease.at.partition),
    )
}

#[cfg(test)]
#[path = "share_tests.rs"]
mod tests;
