//! The reference model: what a queue is, as plainly as it can be said.
//!
//! It has no threads, no clock of its own and no limits. [`SpecDriver`] makes a driver of it, on
//! which the suite tests itself; [`property`] compares any driver with it.

mod admin;
mod job;
pub(crate) mod property;
mod spec_driver;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use goqueue_core::{
    JobId, QueueName,
    driver::{NewJob, PushOutcome, UniqueKey, Verdict},
};

use job::{Dead, Job, Place, State};

pub(crate) use job::{Delivery, Standing};
pub use spec_driver::SpecDriver;

/// A queue, with all its jobs, at one moment.
#[derive(Debug, Default)]
pub(crate) struct Model {
    now: Duration,
    pushed: u64,
    deliveries: u64,
    releases: u64,
    queues: BTreeSet<QueueName>,
    live: BTreeMap<JobId, Job>,
    dead: BTreeMap<JobId, Dead>,
    keys: HashMap<(QueueName, String), Holder>,
    /// Whether a release spends its attempt all the same.
    release_spends: bool,
}

/// Who has a unique key, at least until when.
#[derive(Clone, Copy, Debug)]
struct Holder {
    id: JobId,
    until: Duration,
}

impl Model {
    pub(crate) fn new(release_gives_back: bool) -> Self {
        Self {
            release_spends: !release_gives_back,
            ..Self::default()
        }
    }

    /// Lets time pass until `now`, counted from the beginning.
    pub(crate) fn advance_to(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    pub(crate) fn now(&self) -> Duration {
        self.now
    }

    pub(crate) fn push(&mut self, new: &NewJob) -> PushOutcome {
        if let Some(holder) = new
            .unique
            .as_ref()
            .and_then(|u| self.holder(&new.queue, &u.key))
        {
            return PushOutcome::Duplicate(holder);
        }
        self.pushed += 1;
        self.queues.insert(new.queue.clone());
        let job = Job {
            queue: new.queue.clone(),
            body: new.body.clone(),
            ordering_key: new.ordering_key.clone(),
            unique: new.unique.clone(),
            seq: self.pushed,
            attempts: 0,
            last_error: None,
            is_fresh: new.delay.is_zero(),
            place: Place::Due,
            state: State::Waiting {
                due: self.now.saturating_add(new.delay),
            },
        };
        if let Some(UniqueKey { key, hold }) = &new.unique {
            let holder = Holder {
                id: new.id,
                until: self.now.saturating_add(*hold),
            };
            self.keys.insert((new.queue.clone(), key.clone()), holder);
        }
        self.live.insert(new.id, job);
        PushOutcome::Stored
    }

    /// The jobs of a queue that may be reserved now, in the order they would be. No two of them
    /// have one ordering key.
    pub(crate) fn eligible(&self, queue: &QueueName) -> Vec<JobId> {
        let mut ids: Vec<_> = self
            .live
            .iter()
            .filter(|(_, job)| job.queue == *queue && job.is_due(self.now) && self.is_head(job))
            .map(|(id, _)| *id)
            .collect();
        ids.sort_by_key(|id| self.live[id].rank());
        ids
    }

    /// Whether no earlier job of its key is still alive.
    fn is_head(&self, job: &Job) -> bool {
        job.ordering_key.is_none()
            || !self.live.values().any(|other| {
                other.queue == job.queue
                    && other.ordering_key == job.ordering_key
                    && other.seq < job.seq
            })
    }

    /// Whether nothing has happened to a waiting job since it was pushed without a delay, so that
    /// its place among others like it is the order of their pushes.
    pub(crate) fn is_fresh(&self, id: JobId) -> bool {
        self.live
            .get(&id)
            .is_some_and(|job| job.is_fresh && job.ordering_key.is_none())
    }

    pub(crate) fn reserve(&mut self, id: JobId, lease: Duration) -> Option<Delivery> {
        let job = self.live.get_mut(&id)?;
        self.deliveries += 1;
        job.attempts += 1;
        job.is_fresh = false;
        let until = self.now.saturating_add(lease);
        job.state = State::Running {
            token: self.deliveries,
            until,
        };
        Some(Delivery {
            token: self.deliveries,
            attempt: job.attempts,
            body: job.body.clone(),
        })
    }

    pub(crate) fn standing(&self, id: JobId, token: u64) -> Standing {
        match self.live.get(&id).map(|job| job.state) {
            Some(State::Running {
                token: newest,
                until,
            }) if newest == token => {
                if self.now < until {
                    Standing::Held
                } else {
                    Standing::Expired
                }
            }
            _ => Standing::Gone,
        }
    }

    /// Extends the lease of a job that is running.
    pub(crate) fn extend(&mut self, id: JobId, by: Duration) {
        if let Some(Job {
            state: State::Running { until, .. },
            ..
        }) = self.live.get_mut(&id)
        {
            *until = self.now.saturating_add(by);
        }
    }

    /// Ends the delivery of a job that is running.
    pub(crate) fn settle(&mut self, id: JobId, verdict: &Verdict) {
        match verdict {
            Verdict::Ack => drop(self.live.remove(&id)),
            Verdict::Retry { delay, error } => {
                self.wait(id, *delay, |job| job.last_error = Some(error.clone()));
            }
            Verdict::Release { delay } => {
                self.releases += 1;
                let (spends, place) = (self.release_spends, Place::Front(self.releases));
                self.wait(id, *delay, |job| {
                    job.attempts -= u32::from(!spends);
                    if delay.is_zero() {
                        job.place = place;
                    }
                });
            }
            Verdict::Dead { reason, error } => {
                if let Some(job) = self.live.remove(&id) {
                    let (reason, error) = (*reason, error.clone());
                    self.dead.insert(
                        id,
                        Dead {
                            job,
                            reason,
                            error,
                            died_at: self.now,
                        },
                    );
                }
            }
        }
    }

    fn wait(&mut self, id: JobId, delay: Duration, change: impl FnOnce(&mut Job)) {
        let due = self.now.saturating_add(delay);
        if let Some(job) = self.live.get_mut(&id) {
            job.state = State::Waiting { due };
            job.place = Place::Due;
            change(job);
        }
    }

    /// Who has a unique key now, alive or held beyond its end.
    fn holder(&self, queue: &QueueName, key: &str) -> Option<JobId> {
        let holder = self.keys.get(&(queue.clone(), key.to_owned()))?;
        (self.is_alive_with(holder.id, key) || self.now < holder.until).then_some(holder.id)
    }

    fn is_alive_with(&self, id: JobId, key: &str) -> bool {
        self.live
            .get(&id)
            .is_some_and(|job| job.unique.as_ref().is_some_and(|u| u.key == key))
    }

    /// When something next becomes due or expires.
    pub(crate) fn next_change(&self) -> Option<Duration> {
        self.live
            .values()
            .map(|job| job.changes_at())
            .filter(|at| *at > self.now)
            .min()
    }
}
