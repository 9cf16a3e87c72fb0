use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use crate::arena::Key;

/// The jobs of each ordering key, in the order they came. Only the first of a lane, its head, may
/// run; a lane is there as long as it has a job.
#[derive(Debug, Default)]
pub(crate) struct Lanes(HashMap<Arc<str>, VecDeque<Key>>);

impl Lanes {
    /// The lane's name, shared by all of its jobs.
    pub(crate) fn name(&self, key: &str) -> Arc<str> {
        self.0
            .get_key_value(key)
            .map_or_else(|| key.into(), |(name, _)| Arc::clone(name))
    }

    pub(crate) fn join(&mut self, lane: &Arc<str>, job: Key) {
        match self.0.get_mut(lane) {
            Some(jobs) => jobs.push_back(job),
            None => {
                self.0.insert(Arc::clone(lane), VecDeque::from([job]));
            }
        }
    }

    pub(crate) fn is_head(&self, lane: &str, job: Key) -> bool {
        self.0.get(lane).and_then(VecDeque::front) == Some(&job)
    }

    /// Removes the head and answers the next one.
    pub(crate) fn leave(&mut self, lane: &str) -> Option<Key> {
        let jobs = self.0.get_mut(lane)?;
        jobs.pop_front();
        let next = jobs.front().copied();
        if next.is_none() {
            self.0.remove(lane);
        }
        next
    }

    /// Follows the head to its new key.
    pub(crate) fn rekey_head(&mut self, lane: &str, job: Key) {
        if let Some(head) = self.0.get_mut(lane).and_then(VecDeque::front_mut) {
            *head = job;
        }
    }

    /// Leaves only heads for which `stays` holds.
    pub(crate) fn purge(&mut self, stays: impl Fn(Key) -> bool) {
        self.0.retain(|_, jobs| {
            jobs.truncate(1);
            jobs.front().is_some_and(|head| stays(*head))
        });
    }

    pub(crate) fn shrink(&mut self) {
        if self.0.capacity() > crate::store::slack(self.0.len()) {
            self.0.shrink_to_fit();
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
