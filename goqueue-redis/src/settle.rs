use std::time::Duration;

use futures_util::future::join_all;
use goqueue_core::{
    QueueName, Result,
    driver::{Lease, LeaseOutcome, Settlement, Verdict},
};
use redis::Value;

use crate::{
    connection::Failed,
    driver::Inner,
    error::Operation,
    push::{by_queue, millis},
    record::{put_error, put_short},
    reply::Reply,
    reserve::member,
    scripts::{Args, EXTEND, SETTLE},
};

impl Inner {
    pub(crate) async fn extend(&self, leases: &[Lease], by: Duration) -> Result<Vec<LeaseOutcome>> {
        let portions = by_queue(leases, |lease| &lease.queue, |_| 0);
        let calls = portions.iter().map(|(queue, places)| async move {
            let keys = self.keys.of(queue);
            let mut args = Args::with_capacity(2 + places.len());
            args.bytes(&keys.channel).number(millis(by));
            let known = known(places, |place| &leases[place]);
            for (_, member, _) in &known {
                args.bytes(member);
            }
            let order: Vec<usize> = known.iter().map(|(place, ..)| *place).collect();
            if order.is_empty() {
                return Ok((order, Value::Nil));
            }
            let used = [keys.leases.as_str(), &keys.waiting];
            Ok((order, self.connection.run(&EXTEND, &used, &args).await?))
        });
        outcomes(leases.len(), join_all(calls).await, Operation::Extend)
    }

    pub(crate) async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<LeaseOutcome>> {
        let portions = by_queue(settlements, |s| &s.lease.queue, size_of);
        let calls = portions
            .iter()
            .map(|(queue, places)| self.settle_in(queue, places, settlements));
        outcomes(settlements.len(), join_all(calls).await, Operation::Settle)
    }

    /// Ends leases of one queue with one call. Answers the order in which they were sent, and what
    /// the script says of it.
    async fn settle_in(
        &self,
        queue: &QueueName,
        places: &[usize],
        settlements: &[Settlement],
    ) -> Result<(Vec<usize>, Value), Failed> {
        let keys = self.keys.of(queue);
        let known = known(places, |place| &settlements[place].lease);
        let is_plain = |(place, _, is_keyed): &(usize, _, bool)| {
            !is_keyed && settlements[*place].verdict == Verdict::Ack
        };
        let (plain, others): (Vec<_>, Vec<_>) = known.iter().partition(|known| is_plain(known));

        let mut args = Args::with_capacity(2 + plain.len() + 4 * others.len());
        args.bytes(&keys.channel).number(plain.len() as u64);
        for (_, member, _) in &plain {
            args.bytes(member);
        }
        for (place, member, _) in &others {
            put_verdict(&mut args, member, &settlements[*place].verdict);
        }
        let all_keys = [
            keys.running.as_str(),
            &keys.leases,
            &keys.ready,
            &keys.scheduled,
            &keys.waiting,
            &keys.lanes,
            &keys.parked,
            &keys.parked_due,
            &keys.unique,
            &keys.holds,
            &keys.dead,
            &keys.dead_order,
            &keys.dead_age,
        ];
        let used = if others.is_empty() {
            &all_keys[..2]
        } else {
            &all_keys
        };
        let order: Vec<usize> = plain
            .iter()
            .chain(&others)
            .map(|(place, ..)| *place)
            .collect();
        if order.is_empty() {
            return Ok((order, Value::Nil));
        }
        Ok((order, self.connection.run(&SETTLE, used, &args).await?))
    }
}

/// The leases that this driver can have given, with their places.
fn known<'a>(places: &[usize], lease: impl Fn(usize) -> &'a Lease) -> Vec<(usize, [u8; 24], bool)> {
    let known =
        |place: &usize| member(lease(*place)).map(|(member, is_keyed)| (*place, member, is_keyed));
    places.iter().filter_map(known).collect()
}

fn put_verdict<'a>(args: &mut Args<'a>, member: &'a [u8; 24], verdict: &Verdict) {
    let (name, delay, text) = match verdict {
        Verdict::Ack => ("ack", None, Vec::new()),
        Verdict::Retry { delay, error } => {
            let mut text = Vec::new();
            if !error.is_empty() {
                put_error(&mut text, error);
            }
            ("retry", Some(*delay), text)
        }
        Verdict::Release { delay } => ("release", Some(*delay), Vec::new()),
        Verdict::Dead { reason, error } => {
            let mut text = Vec::new();
            put_short(&mut text, reason.as_str());
            put_error(&mut text, error);
            ("dead", None, text)
        }
    };
    args.bytes(name).bytes(member);
    match delay {
        Some(delay) => args.number(millis(delay)),
        None => args.bytes(""),
    };
    args.owned(text);
}

fn size_of(settlement: &Settlement) -> usize {
    match &settlement.verdict {
        Verdict::Retry { error, .. } | Verdict::Dead { error, .. } => error.len(),
        Verdict::Ack | Verdict::Release { .. } => 0,
    }
}

/// Puts the answers of several calls into the order of the batch. What no call was about is lost.
fn outcomes(
    length: usize,
    results: Vec<Result<(Vec<usize>, Value), Failed>>,
    operation: Operation,
) -> Result<Vec<LeaseOutcome>> {
    let mut outcomes = vec![LeaseOutcome::Lost; length];
    for result in results {
        let (order, value) = result?;
        for place in &order {
            outcomes[*place] = LeaseOutcome::Done;
        }
        for position in Reply::of(value, operation).positions()? {
            if let Some(place) = order.get(position.wrapping_sub(1)) {
                outcomes[*place] = LeaseOutcome::Lost;
            }
        }
    }
    Ok(outcomes)
}
