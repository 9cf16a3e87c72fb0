use std::{sync::Arc, time::Duration};

use goqueue_core::{
    Result,
    driver::{Lease, LeaseToken, QueueShare, ReserveRequest, Reserved},
};
use tokio::sync::Notify;

use crate::{
    MemoryDriver,
    arena::Key,
    clock::Moment,
    job::{Place, QueueIndex},
    queue::{Common, QueueState},
    store::{BOUND, Shared, Store},
};

impl MemoryDriver {
    /// Takes what is ready, or waits for it. Jobs are taken in the poll that returns them, so
    /// dropping this loses none.
    pub(crate) async fn take_or_wait(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        let ReserveRequest {
            queues,
            max,
            lease,
            wait,
            cancel,
        } = request;
        let (order, mut look) = self.call(|store| {
            let max = if cancel.is_cancelled() { 0 } else { max };
            let end = store.common.now.after(wait);
            let order = Order {
                queues: store.shares(&queues),
                max,
                lease,
                end,
            };
            let look = store.look(&order);
            (order, look)
        })?;
        loop {
            match look {
                Look::Done(taken) => return Ok(taken),
                Look::Again => {}
                Look::Wait(nap, bell) => {
                    let _watch = Watch {
                        shared: &self.shared,
                        order: &order,
                        bell: &bell,
                    };
                    tokio::select! {
                        biased;
                        () = cancel.cancelled() => return Ok(Vec::new()),
                        () = self.closed.cancelled() => return Ok(Vec::new()),
                        () = bell.notified() => {}
                        () = tokio::time::sleep(nap) => {}
                    }
                }
            }
            look = match self.call(|store| store.look(&order)) {
                Ok(look) => look,
                // Closed while it waited, which ends the wait in peace.
                Err(_) => return Ok(Vec::new()),
            };
        }
    }
}

/// A request in the store's own terms.
struct Order {
    queues: Vec<(QueueIndex, usize)>,
    max: usize,
    lease: Duration,
    /// Of the wait.
    end: Moment,
}

/// What a look into the queues came to.
enum Look {
    Done(Vec<Reserved>),
    /// Nothing yet, but more has come due than one hold of the lock moves.
    Again,
    /// Nothing before this long from now, unless the bell rings.
    Wait(Duration, Arc<Notify>),
}

/// Takes the bell out of the queues when the wait is over, or dropped.
struct Watch<'a> {
    shared: &'a Shared,
    order: &'a Order,
    bell: &'a Arc<Notify>,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.shared.with(|store| {
            for (index, _) in &self.order.queues {
                store.queue(*index).0.waiters.remove(self.bell);
            }
        });
    }
}

impl Store {
    fn shares(&mut self, queues: &[QueueShare]) -> Vec<(QueueIndex, usize)> {
        queues
            .iter()
            .map(|wanted| (self.index(&wanted.queue), wanted.share))
            .collect()
    }

    /// Takes what there is. With nothing there, leaves a bell where it is rung when there is reason
    /// to look again.
    fn look(&mut self, order: &Order) -> Look {
        let taken = self.take(order);
        let now = self.common.now;
        if !taken.is_empty() || order.max == 0 || order.end <= now {
            return Look::Done(taken);
        }
        let queues = order
            .queues
            .iter()
            .map(|(index, _)| &self.queues[index.0 as usize]);
        let until = queues
            .filter_map(QueueState::next_event)
            .fold(order.end, Moment::min);
        if until <= now {
            return Look::Again;
        }
        let bell = Arc::new(Notify::new());
        for (index, _) in &order.queues {
            self.queue(*index).0.waiters.add(&bell, until);
        }
        Look::Wait(until.since(now), bell)
    }

    /// The two passes: the share of each queue, then whatever there is.
    fn take(&mut self, order: &Order) -> Vec<Reserved> {
        let mut ready: usize = 0;
        for (index, _) in &order.queues {
            let (queue, common) = self.queue(*index);
            queue.promote(common, BOUND);
            ready += queue.ready.len() + queue.returned.len();
        }
        let mut taken = Vec::with_capacity(order.max.min(ready));
        let until = self.common.now.after(order.lease);
        let shares = order.queues.iter().copied();
        let rest = order.queues.iter().map(|(index, _)| (*index, usize::MAX));
        for (index, share) in shares.chain(rest) {
            let (queue, common) = self.queue(index);
            queue.lease(
                common,
                share.min(order.max - taken.len()),
                until,
                &mut taken,
            );
        }
        taken
    }
}

impl QueueState {
    fn lease(
        &mut self,
        common: &mut Common,
        most: usize,
        until: Moment,
        taken: &mut Vec<Reserved>,
    ) {
        for _ in 0..most {
            let Some(key) = self.pop_ready(&common.jobs) else {
                break;
            };
            let (key, token) = self.token(common, key);
            let job = &mut common.jobs[key];
            job.attempts = job.attempts.saturating_add(1);
            job.place = Place::Running { until };
            self.leases.insert((until, job.rank), key);
            let lease = Lease {
                queue: self.name.clone(),
                id: job.id,
                token,
            };
            taken.push(Reserved {
                body: job.body.clone(),
                attempt: job.attempts,
                lease,
            });
        }
    }

    /// A token for a job that was just taken out of the ready ones, which may have to move to a
    /// fresh slot for it.
    fn token(&mut self, common: &mut Common, mut key: Key) -> (Key, LeaseToken) {
        loop {
            if let Some(token) = common.jobs.next_token(key) {
                return (key, token);
            }
            let job = common.jobs.remove(key);
            key = common.jobs.insert(job);
            if let Some(lane) = common.jobs[key].lane() {
                self.lanes.rekey_head(lane, key);
            }
        }
    }
}
