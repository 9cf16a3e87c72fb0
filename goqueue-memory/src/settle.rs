use std::time::Duration;

use goqueue_core::{
    dead_letter::DeadReason,
    driver::{Lease, LeaseOutcome, Settlement, Verdict},
};

use crate::{
    arena::Key,
    clock::Moment,
    dead::Letter,
    job::{Place, QueueIndex},
    store::{BOUND, Store},
};

/// A job whose lease is valid, and where it stands.
struct Running {
    key: Key,
    queue: QueueIndex,
    rank: u64,
    until: Moment,
}

impl Store {
    pub(crate) fn settle(&mut self, settlements: Vec<Settlement>) -> Vec<LeaseOutcome> {
        settlements
            .into_iter()
            .map(|Settlement { lease, verdict }| match self.running(&lease) {
                Some(job) => {
                    self.settle_one(&job, verdict);
                    LeaseOutcome::Done
                }
                None => LeaseOutcome::Lost,
            })
            .collect()
    }

    pub(crate) fn extend(&mut self, leases: &[Lease], by: Duration) -> Vec<LeaseOutcome> {
        let until = self.common.now.after(by);
        leases
            .iter()
            .map(|lease| {
                let Some(job) = self.running(lease) else {
                    return LeaseOutcome::Lost;
                };
                let (queue, common) = self.queue(job.queue);
                queue.leases.remove(&(job.until, job.rank));
                queue.leases.insert((until, job.rank), job.key);
                common.jobs[job.key].place = Place::Running { until };
                queue.waiters.wake_before(until, &mut common.bells);
                LeaseOutcome::Done
            })
            .collect()
    }

    /// A lease past its end holds no more, whether or not the job has been taken back yet.
    fn running(&self, lease: &Lease) -> Option<Running> {
        let key = self.common.jobs.find(lease.id, &lease.token)?;
        let job = &self.common.jobs[key];
        match job.place {
            Place::Running { until } if until > self.common.now => Some(Running {
                key,
                queue: job.queue,
                rank: job.rank,
                until,
            }),
            _ => None,
        }
    }

    fn settle_one(&mut self, job: &Running, verdict: Verdict) {
        let key = job.key;
        let (queue, common) = self.queue(job.queue);
        queue.leases.remove(&(job.until, job.rank));
        match verdict {
            Verdict::Ack => {
                let job = queue.end(common, key);
                common.bodies.push(job.body);
                common.stored -= 1;
            }
            Verdict::Retry { delay, error } => {
                common.jobs[key].set_last_error(error);
                queue.promote(common, BOUND);
                let due = common.now.after(delay);
                queue.enter(common, key, due);
            }
            Verdict::Release { delay } => {
                let job = &mut common.jobs[key];
                job.attempts = job.attempts.saturating_sub(1);
                if delay.is_zero() {
                    queue.put_back(common, key);
                } else {
                    let due = common.now.after(delay);
                    queue.enter(common, key, due);
                }
            }
            Verdict::Dead { reason, error } => self.bury(job, reason, error),
        }
    }

    fn bury(&mut self, job: &Running, reason: DeadReason, error: String) {
        let died_at = self.clock.unix_millis();
        let (queue, common) = self.queue(job.queue);
        let mut job = queue.end(common, job.key);
        let letter = Letter {
            reason,
            error,
            attempts: job.attempts,
            died: common.now,
            died_at,
            keys: job.take_keys(),
            body: job.body,
        };
        if queue.dead.insert(job.id, letter).is_some() {
            common.stored -= 1;
        }
    }
}
