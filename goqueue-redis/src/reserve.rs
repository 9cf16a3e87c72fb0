use std::{sync::Arc, time::Duration};

use futures_util::future::{join_all, select_all};
use goqueue_core::{
    QueueName, Result,
    driver::{Lease, LeaseToken, ReserveRequest, Reserved, Waiting},
};
use tokio::time::{Instant, sleep_until};

use crate::{
    connection::Failed,
    driver::{BATCH, Inner},
    error::Operation,
    push::millis,
    record::Record,
    reply::{List, Reply},
    scripts::{Args, RESERVE},
    wake::Bell,
};

/// How often a worker that waits looks by itself although it would be woken.
const LOOK: Duration = Duration::from_secs(5);
/// The same while nothing would wake it.
const POLL: Duration = Duration::from_millis(600);
/// For how long the server is told that somebody waits. Longer than between two looks.
const NOTED: Duration = Duration::from_secs(15);
/// The most jobs that one reservation promotes, and recovers, on the way.
const PROMOTIONS: u64 = 500;

/// The mark of a token whose job has an ordering or a unique key, so that an ack of one that has
/// none need not look into the job.
const KEYED: u64 = 1;

/// What one look into one queue found.
struct Look {
    jobs: Vec<Reserved>,
    /// Until something is due there.
    next: Option<Duration>,
    has_more: bool,
}

/// What looking at all queues found.
#[derive(Default)]
struct Round {
    jobs: Vec<Reserved>,
    next: Option<Duration>,
    failed: Option<Failed>,
}

impl Inner {
    pub(crate) async fn reserve(&self, request: &ReserveRequest) -> Result<Vec<Reserved>> {
        let max = request.max.min(BATCH.jobs);
        if max == 0 || request.queues.is_empty() {
            return Ok(Vec::new());
        }
        let waiting = self.waiters.wait(request);
        let found = self.look_and_wait(request, max, &waiting).await;
        let (found, unwanted) = waiting.end(found, max);
        if let Some(job) = unwanted {
            self.give_back(job.lease).await;
        }
        found
    }

    async fn look_and_wait(
        &self,
        request: &ReserveRequest,
        max: usize,
        waiting: &Waiting<'_>,
    ) -> Result<Vec<Reserved>> {
        let deadline = Instant::now().checked_add(request.wait);
        let waits = !request.wait.is_zero();
        let bells: Vec<Arc<Bell>> = if waits {
            let bell = |share: &_| self.wakeups.bell(&self.keys.of(queue_of(share)).channel);
            request.queues.iter().map(bell).collect()
        } else {
            Vec::new()
        };
        loop {
            if let Some(job) = waiting.handed() {
                return Ok(vec![job]);
            }
            // Before the look, so that what is pushed after it is heard.
            let mut rings: Vec<_> = bells
                .iter()
                .map(|bell| Box::pin(bell.rings.notified()))
                .collect();
            for ring in &mut rings {
                ring.as_mut().enable();
            }
            if request.cancel.is_cancelled() {
                return Ok(Vec::new());
            }
            // Never dropped: what the server has handed out must arrive.
            let round = self.look(request, max, waits).await;
            match round {
                Round { jobs, .. } if !jobs.is_empty() => return Ok(jobs),
                Round {
                    failed: Some(failed),
                    ..
                } => return Err(failed.error),
                Round { next, .. } => {
                    let heard = bells.iter().all(|bell| bell.is_heard());
                    let pause = next.unwrap_or(LOOK).min(if heard { LOOK } else { POLL });
                    let now = Instant::now();
                    if !waits || deadline.is_some_and(|deadline| now >= deadline) {
                        return Ok(Vec::new());
                    }
                    let again = now + pause.max(Duration::from_millis(1));
                    waiting.open();
                    tokio::select! {
                        biased;
                        () = request.cancel.cancelled() => return Ok(Vec::new()),
                        () = self.gate.closed().cancelled() => return Ok(Vec::new()),
                        () = waiting.woken() => {}
                        _ = select_all(rings) => {}
                        () = sleep_until(deadline.map_or(again, |end| again.min(end))) => {}
                    }
                }
            }
        }
    }

    /// Both passes over the queues of a request.
    async fn look(&self, request: &ReserveRequest, max: usize, waits: bool) -> Round {
        let mut round = Round::default();
        let mut room = max;
        let mut shares = Vec::new();
        for share in &request.queues {
            let most = share.share.min(room);
            room -= most;
            shares.push(most);
        }
        let first = request
            .queues
            .iter()
            .zip(&shares)
            .map(|(share, most)| async {
                if *most == 0 {
                    None
                } else {
                    Some(self.take(&share.queue, *most, request, waits).await)
                }
            });
        let mut is_worth_asking = Vec::new();
        for looked in join_all(first).await {
            is_worth_asking.push(round.add(looked));
        }
        for (share, is_worth_asking) in request.queues.iter().zip(is_worth_asking) {
            let room = max - round.jobs.len();
            // A queue that was left empty has told when it wants to be asked again.
            if room > 0 && is_worth_asking {
                let waits = waits && round.jobs.is_empty();
                round.add(Some(self.take(&share.queue, room, request, waits).await));
            }
        }
        round
    }

    /// Takes jobs of one queue with one call.
    async fn take(
        &self,
        queue: &QueueName,
        most: usize,
        request: &ReserveRequest,
        waits: bool,
    ) -> Result<Look, Failed> {
        let keys = self.keys.of(queue);
        let token = new_token();
        let mut args = Args::with_capacity(6);
        args.number(most as u64)
            .number(millis(request.lease))
            .owned(token.to_be_bytes()[..6].to_vec())
            .number(if waits { millis(NOTED) } else { 0 })
            .number(PROMOTIONS)
            .number(BATCH.bytes as u64);
        let used = [
            keys.ready.as_str(),
            &keys.scheduled,
            &keys.running,
            &keys.leases,
            &keys.waiting,
        ];
        let value = self.connection.run(&RESERVE, &used, &args).await?;
        let looked = Reply::of(value, Operation::Reserve).list();
        looked
            .and_then(|list| read(queue, token, list))
            .map_err(Failed::undecided)
    }
}

impl Round {
    /// Whether the queue may have more.
    fn add(&mut self, looked: Option<Result<Look, Failed>>) -> bool {
        match looked {
            None => true,
            Some(Ok(look)) => {
                self.jobs.extend(look.jobs);
                self.next = [self.next, look.next].into_iter().flatten().min();
                look.has_more
            }
            Some(Err(failed)) => {
                self.failed = Some(failed);
                false
            }
        }
    }
}

fn queue_of(share: &goqueue_core::driver::QueueShare) -> &QueueName {
    &share.queue
}

fn read(queue: &QueueName, token: u64, mut list: List) -> Result<Look> {
    let next = u64::try_from(list.number()?)
        .ok()
        .map(Duration::from_millis);
    let has_more = list.count()? > 0;
    let mut jobs = Vec::with_capacity(list.len());
    while !list.is_empty() {
        let bytes = list.bytes()?;
        // The script hands out nothing else.
        let Some(record) = Record::read(&bytes) else {
            return Err(list.unexpected());
        };
        let number = jobs.len() as u64 + 1;
        let token = token + number * 2 + if record.is_keyed { KEYED } else { 0 };
        jobs.push(Reserved {
            body: record.body,
            attempt: record.attempts.saturating_add(1),
            lease: Lease {
                queue: queue.clone(),
                id: record.id,
                token: LeaseToken::from(token),
            },
        });
    }
    Ok(Look {
        jobs,
        next,
        has_more,
    })
}

/// What the tokens of one reservation begin with, in the upper six bytes. The lower two are for the
/// job's number and mark.
pub(crate) fn new_token() -> u64 {
    // The last bytes of a UUID are random.
    uuid::Uuid::now_v7().as_u64_pair().1 << 16
}

/// A lease as the scripts know it, and whether its job has a key. `None` for a token of another
/// driver.
pub(crate) fn member(lease: &Lease) -> Option<([u8; 24], bool)> {
    let token = lease.token.as_number()?;
    let mut member = [0; 24];
    member[..16].copy_from_slice(lease.id.as_uuid().as_bytes());
    member[16..].copy_from_slice(&token.to_be_bytes());
    Some((member, token & KEYED != 0))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn tokens_differ() {
        let tokens: HashSet<u64> = (0..10_000).map(|_| new_token()).collect();
        assert_eq!(tokens.len(), 10_000);
        assert!(tokens.iter().all(|token| token & 0xffff == 0));
    }
}
