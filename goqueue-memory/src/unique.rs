use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use goqueue_core::JobId;

use crate::{clock::Moment, job::UniqueHold};

/// How many expired keys each new one clears away, so that they never pile up.
const SWEEP_PER_TAKE: usize = 2;

/// The unique keys of a queue: those of live jobs, and those held on after their jobs ended.
#[derive(Debug, Default)]
pub(crate) struct Uniques {
    holders: HashMap<Arc<str>, Holder>,
    /// The keys whose jobs have ended, by when they are freed.
    ending: BTreeSet<(Moment, Arc<str>)>,
}

#[derive(Debug)]
struct Holder {
    id: JobId,
    live: bool,
    until: Moment,
}

impl Uniques {
    /// The job that keeps `key` taken.
    pub(crate) fn holder(&self, key: &str, now: Moment) -> Option<JobId> {
        let holder = self.holders.get(key)?;
        (holder.live || holder.until > now).then_some(holder.id)
    }

    /// Whether a live job has `key`.
    pub(crate) fn is_live(&self, key: &str) -> bool {
        self.holders.get(key).is_some_and(|holder| holder.live)
    }

    /// Gives the key to a live job. No other live job may have it; a hold that a job which has
    /// ended left behind goes on.
    pub(crate) fn take(&mut self, hold: &UniqueHold, id: JobId, now: Moment) {
        self.sweep(now, SWEEP_PER_TAKE);
        let mut holder = Holder {
            id,
            live: true,
            until: hold.until,
        };
        if let Some(old) = self.holders.remove(&hold.key) {
            self.ending.remove(&(old.until, Arc::clone(&hold.key)));
            holder.until = holder.until.max(old.until);
        }
        self.holders.insert(Arc::clone(&hold.key), holder);
    }

    /// The job has ended: frees its key, or holds it to the end of its time.
    pub(crate) fn release(&mut self, key: &Arc<str>, id: JobId, now: Moment) {
        let Some(holder) = self.holders.get_mut(key).filter(|holder| holder.id == id) else {
            return;
        };
        if holder.until > now {
            holder.live = false;
            self.ending.insert((holder.until, Arc::clone(key)));
        } else {
            self.holders.remove(key);
        }
    }

    /// Frees the job's key at once.
    pub(crate) fn free(&mut self, key: &Arc<str>, id: JobId) {
        if self.holders.get(key).is_some_and(|holder| holder.id == id)
            && let Some(holder) = self.holders.remove(key)
        {
            self.ending.remove(&(holder.until, Arc::clone(key)));
        }
    }

    /// Frees up to `bound` keys whose time is over. Whether it stopped at the bound.
    pub(crate) fn sweep(&mut self, now: Moment, bound: usize) -> bool {
        for _ in 0..bound {
            let Some((until, _)) = self.ending.first() else {
                return false;
            };
            if *until > now {
                return false;
            }
            if let Some((_, key)) = self.ending.pop_first() {
                self.holders.remove(&key);
            }
        }
        true
    }

    /// When the next held key is freed.
    pub(crate) fn next_end(&self) -> Option<Moment> {
        self.ending.first().map(|(until, _)| *until)
    }

    pub(crate) fn shrink(&mut self) {
        if self.holders.capacity() > crate::store::slack(self.holders.len()) {
            self.holders.shrink_to_fit();
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.holders.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Moment {
        Moment::from_nanos(nanos)
    }

    fn hold(until: u64) -> UniqueHold {
        UniqueHold {
            key: "k".into(),
            until: at(until),
        }
    }

    #[test]
    fn is_freed_with_the_job_or_at_the_end_of_the_hold() {
        let (mut uniques, id) = (Uniques::default(), JobId::new());
        uniques.take(&hold(0), id, at(0));
        assert_eq!(uniques.holder("k", at(1_000)), Some(id));
        uniques.release(&"k".into(), id, at(1_000));
        assert_eq!(uniques.holder("k", at(1_000)), None);

        uniques.take(&hold(10), id, at(1));
        uniques.release(&"k".into(), id, at(2));
        assert_eq!(uniques.holder("k", at(9)), Some(id));
        assert!(!uniques.is_live("k"));
        assert_eq!(uniques.holder("k", at(10)), None);
    }

    #[test]
    fn only_the_holder_frees_it() {
        let (mut uniques, id) = (Uniques::default(), JobId::new());
        uniques.take(&hold(0), id, at(0));
        uniques.release(&"k".into(), JobId::new(), at(1));
        uniques.free(&"k".into(), JobId::new());
        assert!(uniques.is_live("k"));
        uniques.free(&"k".into(), id);
        assert_eq!(uniques.len(), 0);
    }

    #[test]
    fn expired_holds_leave_nothing_behind() {
        let mut uniques = Uniques::default();
        for nanos in 0..1_000 {
            let (id, key) = (JobId::new(), Arc::from(format!("key-{nanos}")));
            let hold = UniqueHold {
                key: Arc::clone(&key),
                until: at(nanos + 10),
            };
            uniques.take(&hold, id, at(nanos));
            uniques.release(&key, id, at(nanos));
        }
        assert!(
            uniques.len() <= 11,
            "{} keys are left of 11 that are held",
            uniques.len()
        );
        assert!(!uniques.sweep(at(5_000), 100));
        assert_eq!((uniques.len(), uniques.ending.len()), (0, 0));
    }

    #[test]
    fn a_sweep_stops_at_its_bound() {
        let mut uniques = Uniques::default();
        for name in ["a", "b", "c"] {
            let (id, key) = (JobId::new(), Arc::from(name));
            uniques.take(
                &UniqueHold {
                    key: Arc::clone(&key),
                    until: at(5),
                },
                id,
                at(0),
            );
            uniques.release(&key, id, at(0));
        }
        assert!(uniques.sweep(at(9), 2));
        assert_eq!(uniques.next_end(), Some(at(5)));
        assert!(!uniques.sweep(at(9), 2));
        assert_eq!(uniques.next_end(), None);
    }
}
