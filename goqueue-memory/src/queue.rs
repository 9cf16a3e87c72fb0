use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use goqueue_core::{JobId, QueueName};

use crate::{
    arena::{Arena, Key},
    clock::Moment,
    dead::{DeadLetters, Letter},
    job::{Job, Place, QueueIndex},
    lane::Lanes,
    unique::Uniques,
    wait::{Bells, Waiters},
};

/// What every queue of a store works with.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) jobs: Arena,
    /// Live jobs and dead letters of all queues.
    pub(crate) stored: usize,
    /// When the call under way began.
    pub(crate) now: Moment,
    pub(crate) bells: Bells,
    /// Of jobs that are done, to be freed once the store is unlocked.
    pub(crate) bodies: Vec<Bytes>,
}

/// One queue: where each of its jobs stands.
///
/// A job gets its rank when it becomes due, so ranks follow due times, and jobs are taken by rank.
/// Every place is ordered by it; `ready` alone, where nearly all jobs go, is no tree, since jobs
/// join it at the end only.
#[derive(Debug)]
pub(crate) struct QueueState {
    pub(crate) name: QueueName,
    pub(crate) index: QueueIndex,
    /// Whether it has ever held a job.
    pub(crate) used: bool,
    pub(crate) ready: VecDeque<Key>,
    /// Ready too, but with a rank from before: released jobs, and those that were held.
    pub(crate) returned: BTreeMap<u64, Key>,
    /// Due, but behind an earlier job of their ordering key.
    pub(crate) held: BTreeMap<u64, Key>,
    /// Not due yet, heads of their lanes or not.
    pub(crate) scheduled: BTreeMap<(Moment, u64), Key>,
    /// Running, by the end of their leases.
    pub(crate) leases: BTreeMap<(Moment, u64), Key>,
    pub(crate) lanes: Lanes,
    pub(crate) uniques: Uniques,
    pub(crate) dead: DeadLetters,
    pub(crate) waiters: Waiters,
    next_rank: u64,
}

/// What a pass of [`QueueState::promote`] did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Promotion {
    pub(crate) promoted: u64,
    pub(crate) recovered: u64,
    /// Whether there is more to do.
    pub(crate) more: bool,
}

impl QueueState {
    pub(crate) fn new(name: QueueName, index: QueueIndex) -> Self {
        Self {
            name,
            index,
            used: false,
            ready: VecDeque::new(),
            returned: BTreeMap::new(),
            held: BTreeMap::new(),
            scheduled: BTreeMap::new(),
            leases: BTreeMap::new(),
            lanes: Lanes::default(),
            uniques: Uniques::default(),
            dead: DeadLetters::default(),
            waiters: Waiters::default(),
            next_rank: 0,
        }
    }

    /// Puts a new job in its lane and among the due or scheduled.
    pub(crate) fn add(&mut self, common: &mut Common, job: Job, due: Moment) {
        let (id, lane) = (job.id, job.lane().cloned());
        if let Some(hold) = job.unique() {
            self.uniques.take(hold, id, common.now);
        }
        self.used = true;
        let key = common.jobs.insert(job);
        if let Some(lane) = lane {
            self.lanes.join(&lane, key);
        }
        self.enter(common, key, due);
    }

    /// Places a job that stands nowhere. Call [`promote`](Self::promote) before, so that what came
    /// due earlier is ahead of it.
    pub(crate) fn enter(&mut self, common: &mut Common, key: Key, due: Moment) {
        common.jobs[key].due = due;
        if due <= common.now {
            self.becomes_due(common, key);
            return;
        }
        let rank = self.rank();
        let job = &mut common.jobs[key];
        job.rank = rank;
        job.place = Place::Scheduled;
        self.scheduled.insert((due, rank), key);
        self.waiters.wake_before(due, &mut common.bells);
    }

    /// Moves up to `bound` jobs whose time has come to the end of the ready ones, those due first
    /// first: scheduled ones, and those whose leases ran out.
    pub(crate) fn promote(&mut self, common: &mut Common, bound: usize) -> Promotion {
        let mut done = Promotion::default();
        for _ in 0..bound {
            let (due, lost) = (first_moment(&self.scheduled), first_moment(&self.leases));
            let next = due.into_iter().chain(lost).min();
            let Some(next) = next.filter(|next| *next <= common.now) else {
                return done;
            };
            let (first, count) = if due == Some(next) {
                (&mut self.scheduled, &mut done.promoted)
            } else {
                (&mut self.leases, &mut done.recovered)
            };
            *count += 1;
            if let Some((_, key)) = first.pop_first() {
                common.jobs[key].due = next;
                self.becomes_due(common, key);
            }
        }
        done.more = self.next_event().is_some_and(|event| event <= common.now);
        done
    }

    /// When the next job becomes due or is lost by its worker.
    pub(crate) fn next_event(&self) -> Option<Moment> {
        let (due, lost) = (first_moment(&self.scheduled), first_moment(&self.leases));
        due.into_iter().chain(lost).min()
    }

    /// Takes the ready job of the lowest rank out of its place.
    pub(crate) fn pop_ready(&mut self, jobs: &Arena) -> Option<Key> {
        match self.returned.first_key_value() {
            None => self.ready.pop_front(),
            Some((rank, _)) => match self.ready.front() {
                Some(front) if jobs[*front].rank < *rank => self.ready.pop_front(),
                _ => self.returned.pop_first().map(|(_, key)| key),
            },
        }
    }

    /// Puts a job that was taken back where it was.
    pub(crate) fn put_back(&mut self, common: &mut Common, key: Key) {
        let job = &mut common.jobs[key];
        job.place = Place::Ready;
        self.returned.insert(job.rank, key);
        self.waiters.wake(&mut common.bells);
    }

    /// Removes a job that was running: frees its keys, lets the next of its lane move up. It counts
    /// as stored until the caller says otherwise.
    pub(crate) fn end(&mut self, common: &mut Common, key: Key) -> Job {
        let job = common.jobs.remove(key);
        if let Some(unique) = job.unique() {
            self.uniques.release(&unique.key, job.id, common.now);
        }
        if let Some(lane) = job.lane()
            && let Some(next) = self.lanes.leave(lane)
            && common.jobs[next].place == Place::Held
        {
            self.held.remove(&common.jobs[next].rank);
            self.put_back(common, next);
        }
        job
    }

    /// Removes every job that is not running, for the caller to drop.
    pub(crate) fn purge(&mut self, common: &mut Common) -> Vec<Job> {
        let ready = std::mem::take(&mut self.ready).into_iter();
        let ranked = [
            std::mem::take(&mut self.returned),
            std::mem::take(&mut self.held),
        ];
        let scheduled = std::mem::take(&mut self.scheduled).into_values();
        let keys = ready
            .chain(ranked.into_iter().flat_map(BTreeMap::into_values))
            .chain(scheduled);
        let jobs: Vec<_> = keys.map(|key| common.jobs.remove(key)).collect();
        for job in &jobs {
            if let Some(unique) = job.unique() {
                self.uniques.free(&unique.key, job.id);
            }
        }
        self.lanes.purge(|head| common.jobs.get(head).is_some());
        common.stored -= jobs.len();
        jobs
    }

    /// Takes out a dead letter that may live again, as far as its unique key goes.
    pub(crate) fn admitted(&mut self, id: JobId) -> Option<Letter> {
        if let Some(unique) = &self.dead.get(id)?.keys.unique
            && self.uniques.is_live(&unique.key)
        {
            return None;
        }
        self.dead.remove(id)
    }

    pub(crate) fn shrink(&mut self) {
        if self.ready.capacity() > crate::store::slack(self.ready.len()) {
            self.ready.shrink_to_fit();
        }
        self.lanes.shrink();
        self.uniques.shrink();
    }

    fn becomes_due(&mut self, common: &mut Common, key: Key) {
        let rank = self.rank();
        let job = &mut common.jobs[key];
        job.rank = rank;
        if job
            .lane()
            .is_some_and(|lane| !self.lanes.is_head(lane, key))
        {
            job.place = Place::Held;
            self.held.insert(rank, key);
        } else {
            job.place = Place::Ready;
            self.ready.push_back(key);
            self.waiters.wake(&mut common.bells);
        }
    }

    fn rank(&mut self) -> u64 {
        self.next_rank += 1;
        self.next_rank
    }
}

fn first_moment(jobs: &BTreeMap<(Moment, u64), Key>) -> Option<Moment> {
    jobs.first_key_value().map(|((moment, _), _)| *moment)
}
