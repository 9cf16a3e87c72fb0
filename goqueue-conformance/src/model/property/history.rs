use goqueue_core::driver::{Capabilities, InspectCapability, UniqueCapability};
use proptest::{collection::vec, option, prelude::*, strategy::BoxedStrategy};

use super::ops::{Ending, Op};

/// The queues of a history.
pub(super) const QUEUES: [&str; 2] = ["left", "right"];

/// What a driver can be asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    ordering: bool,
    unique: bool,
    inspect: bool,
}

impl Allowed {
    pub(super) fn by(can: &Capabilities) -> Self {
        Self {
            ordering: can.ordering,
            unique: can.unique == UniqueCapability::Exact,
            inspect: can.inspect == InspectCapability::Full,
        }
    }
}

/// Histories of up to 60 operations.
pub(super) fn histories(allowed: Allowed) -> impl Strategy<Value = Vec<Op>> {
    vec(op(allowed), 1..60)
}

fn op(allowed: Allowed) -> BoxedStrategy<Op> {
    let admin = if allowed.inspect { 1 } else { 0 };
    prop_oneof![
        8 => push(allowed),
        8 => reserve(),
        2 => (any::<usize>(), 1..4_u32).prop_map(|(lease, by)| Op::Extend { lease, by }),
        8 => (any::<usize>(), ending()).prop_map(|(lease, end)| Op::Settle { lease, end }),
        4 => (1..3_u32).prop_map(|steps| Op::Elapse { steps }),
        2 * admin => chosen().prop_map(|(queue, job)| Op::Requeue { queue, job }),
        admin => chosen().prop_map(|(queue, job)| Op::Delete { queue, job }),
        admin => queue().prop_map(|queue| Op::Purge { queue }),
    ]
    .boxed()
}

fn push(allowed: Allowed) -> impl Strategy<Value = Op> {
    let delay = prop_oneof![3 => Just(0), 1 => 1..4_u32];
    let ordering = sometimes(allowed.ordering, 0.4, 0..2_u8);
    let hold = prop_oneof![3 => Just(0), 1 => 1..4_u32];
    let unique = sometimes(allowed.unique, 0.3, (0..3_u8, hold));
    (queue(), delay, ordering, unique).prop_map(|(queue, delay, ordering, unique)| Op::Push {
        queue,
        delay,
        ordering,
        unique,
    })
}

/// With this probability where it is allowed at all, which is never zero for the library.
fn sometimes<S>(is_allowed: bool, probability: f64, some: S) -> BoxedStrategy<Option<S::Value>>
where
    S: Strategy + 'static,
    S::Value: Clone,
{
    if is_allowed {
        option::weighted(probability, some).boxed()
    } else {
        Just(None).boxed()
    }
}

fn reserve() -> impl Strategy<Value = Op> {
    let both = (0..4_usize, 0..4_usize, any::<bool>()).prop_map(|(left, right, turned)| {
        let mut shares = vec![(0, left), (1, right)];
        if turned {
            shares.reverse();
        }
        shares
    });
    let one = (queue(), 0..4_usize).prop_map(|share| vec![share]);
    let shares = prop_oneof![2 => both, 1 => one];
    (0..2_usize, shares, 1..6_usize, 1..4_u32).prop_map(|(by, shares, max, lease)| Op::Reserve {
        by,
        shares,
        max,
        lease,
    })
}

fn ending() -> impl Strategy<Value = Ending> {
    let time = prop_oneof![1 => Just(0), 1 => 1..4_u32];
    prop_oneof![
        3 => Just(Ending::Ack),
        2 => time.clone().prop_map(Ending::Retry),
        2 => time.prop_map(Ending::Release),
        2 => Just(Ending::Dead),
    ]
}

fn queue() -> impl Strategy<Value = usize> + Clone {
    0..QUEUES.len()
}

fn chosen() -> impl Strategy<Value = (usize, Option<usize>)> {
    (queue(), option::of(any::<usize>()))
}
