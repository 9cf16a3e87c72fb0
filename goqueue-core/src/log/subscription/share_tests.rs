use super::*;
use crate::log::{
    names::{GroupName, SubscriberName, TopicName},
    store::GroupPartition,
};

const LEASE: Duration = Duration::from_secs(30);

fn key(n: usize) -> PartitionKey {
    PartitionKey::new(format!("p{n:03}")).unwrap()
}

fn subscriber(n: u64) -> SubscriberId {
    SubscriberId {
        name: SubscriberName::new(format!("s{n}")).unwrap(),
        instance: n,
    }
}

/// A group in miniature: every partition has an endless backlog unless it is told otherwise.
struct Group {
    offsets: Vec<PartitionOffsets>,
    subscribers: Vec<(SubscriberId, Sharer, HashSet<PartitionKey>)>,
    now: Instant,
}

impl Group {
    fn new(partitions: usize, subscribers: u64) -> Self {
        let offsets = (0..partitions).map(|n| PartitionOffsets {
            partition: key(n),
            head: 100,
            tail: 0,
            cursor: 0,
            watermark: 0,
        });
        let mut group = Self {
            offsets: offsets.collect(),
            subscribers: Vec::new(),
            now: Instant::now() + LEASE * 1_000,
        };
        (0..subscribers).for_each(|n| group.join(n));
        group
    }

    fn join(&mut self, n: u64) {
        self.subscribers
            .push((subscriber(n), Sharer::new(LEASE), HashSet::new()));
        self.subscribers.sort_by(|a, b| a.0.cmp(&b.0));
    }

    fn leave(&mut self, n: u64) {
        self.subscribers.retain(|(id, ..)| *id != subscriber(n));
    }

    fn drain(&mut self) {
        for offsets in &mut self.offsets {
            offsets.watermark = offsets.head;
        }
    }

    fn leases(&self) -> Vec<LeaseInfo> {
        let held = self.subscribers.iter().flat_map(|(id, _, mine)| {
            mine.iter().map(|partition| LeaseInfo {
                at: GroupPartition {
                    topic: TopicName::new("t").unwrap(),
                    group: GroupName::new("g").unwrap(),
                    partition: partition.clone(),
                },
                subscriber: id.clone(),
                expires_in: LEASE,
                expired_for: Duration::ZERO,
            })
        });
        held.collect()
    }

    /// One look of every subscriber but those that are `stuck`, one after the other.
    fn pass(&mut self, stuck: &[u64]) {
        let roster: Vec<_> = self.subscribers.iter().map(|(id, ..)| id.clone()).collect();
        for index in 0..self.subscribers.len() {
            if stuck.iter().any(|n| roster[index] == subscriber(*n)) {
                continue;
            }
            let leases = self.leases();
            let (me, sharer, mine) = &mut self.subscribers[index];
            let view = View {
                partitions: &self.offsets,
                leases: &leases,
                roster: &roster,
                me,
                mine,
                leaving: &HashSet::new(),
            };
            let plan = sharer.plan(&view, self.now);
            assert_eq!(plan.stray, []);
            sharer.adopt(plan.orphans, self.now);
            for partition in plan.excess.iter().chain(&plan.idle) {
                assert!(mine.remove(partition));
            }
            mine.extend(plan.claim);
        }
        self.now += Duration::from_secs(1);
    }

    fn passes(&mut self, count: usize) {
        (0..count).for_each(|_| self.pass(&[]));
    }

    fn shares(&self) -> Vec<usize> {
        self.subscribers
            .iter()
            .map(|(_, _, mine)| mine.len())
            .collect()
    }
}

#[test]
fn the_caps_sum_to_the_partitions() {
    for partitions in 0..50 {
        for subscribers in 1..20 {
            let caps: Vec<_> = (0..subscribers)
                .map(|r| cap(partitions, subscribers, r))
                .collect();
            assert_eq!(caps.iter().sum::<usize>(), partitions);
            let (most, least) = (caps.iter().max().unwrap(), caps.iter().min().unwrap());
            assert!(most - least <= 1, "{caps:?}");
        }
    }
    assert_eq!(cap(12, 0, 0), 0);
}

#[test]
fn shares_settle_even_odd_and_few() {
    for (partitions, subscribers, expected) in [
        (12, 4, vec![3, 3, 3, 3]),
        (12, 5, vec![3, 3, 2, 2, 2]),
        (7, 2, vec![4, 3]),
        (2, 4, vec![1, 1, 0, 0]),
        (0, 2, vec![0, 0]),
    ] {
        let mut group = Group::new(partitions, 1);
        group.passes(1);
        assert_eq!(group.shares(), [partitions]);
        (1..subscribers).for_each(|n| group.join(n));
        group.passes(3);
        assert_eq!(group.shares(), expected);
        let before = group.leases();
        group.passes(3);
        assert_eq!(
            group.leases().len(),
            before.len(),
            "settled shares stay as they are"
        );
    }
}

#[test]
fn what_a_subscriber_leaves_is_taken() {
    let mut group = Group::new(12, 3);
    group.passes(3);
    assert_eq!(group.shares(), [4, 4, 4]);
    group.leave(1);
    group.passes(2);
    assert_eq!(group.shares(), [6, 6]);
}

#[test]
fn what_nobody_comes_for_is_swept() {
    let mut group = Group::new(6, 3);
    // One says that it is there, and takes nothing.
    for _ in 0..3 {
        group.pass(&[2]);
    }
    assert_eq!(group.shares(), [2, 2, 0]);
    group.now += LEASE;
    for _ in 0..3 {
        group.pass(&[2]);
    }
    assert_eq!(
        group.shares().iter().sum::<usize>(),
        6,
        "{:?}",
        group.shares()
    );
    for _ in 0..5 {
        group.pass(&[2]);
    }
    assert_eq!(
        group.shares().iter().sum::<usize>(),
        6,
        "what was swept is kept"
    );
    // Once it comes round, arithmetic gets its chance again.
    group.now += LEASE * (ADOPTED_FOR + 1);
    group.passes(3);
    assert_eq!(group.shares(), [2, 2, 2]);
}

#[test]
fn a_drained_partition_is_given_up_and_not_taken_again() {
    let mut group = Group::new(4, 2);
    group.passes(3);
    group.drain();
    group.now += LEASE * IDLE_AFTER - Duration::from_secs(5);
    group.passes(1);
    assert_eq!(group.shares(), [2, 2]);
    group.now += Duration::from_secs(10);
    group.passes(1);
    assert_eq!(group.shares(), [0, 0]);
    group.now += LEASE * 3;
    group.passes(2);
    assert_eq!(group.shares(), [0, 0]);
    group.offsets[1].head += 1;
    group.passes(1);
    assert_eq!(group.shares().iter().sum::<usize>(), 1);
}

#[test]
fn drained_partitions_that_are_still_warm_are_shared_out() {
    // The newcomer looks first, as it does right after its first heartbeat.
    let mut group = Group::new(8, 0);
    group.join(1);
    group.passes(1);
    group.drain();
    group.join(0);
    group.passes(3);
    assert_eq!(group.shares(), [4, 4]);
}

#[test]
fn a_lease_without_a_reader_is_removed() {
    let mut group = Group::new(2, 2);
    group.passes(1);
    let leases = group.leases();
    let roster: Vec<_> = group
        .subscribers
        .iter()
        .map(|(id, ..)| id.clone())
        .collect();
    let view = View {
        partitions: &[],
        leases: &leases,
        roster: &roster,
        me: &roster[0],
        mine: &HashSet::new(),
        leaving: &HashSet::new(),
    };
    let plan = Sharer::new(LEASE).plan(&view, group.now);
    assert_eq!(plan.stray.len(), 1);
}
