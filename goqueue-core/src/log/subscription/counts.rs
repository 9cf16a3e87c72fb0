use std::sync::atomic::{AtomicU64, Ordering};

use crate::log::observe::EventKind;

/// What a subscription did, as [`Subscription::close`](super::Subscription::close) tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubscriptionReport {
    /// Deliveries handed to the program.
    pub delivered: u64,
    /// Messages acked.
    pub acked: u64,
    /// Deliveries that failed and will be repeated.
    pub nacked: u64,
    /// Deliveries put off.
    pub postponed: u64,
    /// Messages that became dead letters.
    pub dead_lettered: u64,
    /// Messages given up, with dead letters disabled.
    pub dropped: u64,
    /// Messages that were fetched, not handed out, and given back.
    pub released: u64,
    /// Answers that came too late and changed nothing.
    pub lease_lost: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counts([AtomicU64; 8]);

const KINDS: [EventKind; 8] = [
    EventKind::Delivered,
    EventKind::Acked,
    EventKind::Nacked,
    EventKind::Postponed,
    EventKind::DeadLettered,
    EventKind::Dropped,
    EventKind::Released,
    EventKind::LeaseLost,
];

impl Counts {
    pub(super) fn add(&self, kind: EventKind, count: u64) {
        if let Some(index) = KINDS.iter().position(|k| *k == kind) {
            self.0[index].fetch_add(count, Ordering::Relaxed);
        }
    }

    pub(super) fn report(&self) -> SubscriptionReport {
        let count = |index: usize| self.0[index].load(Ordering::Relaxed);
        SubscriptionReport {
            delivered: count(0),
            acked: count(1),
            nacked: count(2),
            postponed: count(3),
            dead_lettered: count(4),
            dropped: count(5),
            released: count(6),
            lease_lost: count(7),
        }
    }
}
