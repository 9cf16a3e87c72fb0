use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    time::Duration,
};

use bytes::Bytes;
use goqueue_core::{JobId, dead_letter::DeadReason};

use crate::{clock::Moment, job::Keys};

/// The dead letters of a queue.
#[derive(Debug, Default)]
pub(crate) struct DeadLetters {
    letters: BTreeMap<JobId, Letter>,
    by_death: BTreeSet<(Moment, JobId)>,
}

#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) body: Bytes,
    pub(crate) reason: DeadReason,
    pub(crate) error: String,
    pub(crate) attempts: u32,
    pub(crate) died: Moment,
    /// The same in milliseconds since the Unix epoch.
    pub(crate) died_at: u64,
    pub(crate) keys: Keys,
}

impl DeadLetters {
    pub(crate) fn len(&self) -> usize {
        self.letters.len()
    }

    /// Answers the letter that had this id before, which only a caller that reuses ids can see.
    pub(crate) fn insert(&mut self, id: JobId, letter: Letter) -> Option<Letter> {
        let old = self.remove(id);
        self.by_death.insert((letter.died, id));
        self.letters.insert(id, letter);
        old
    }

    pub(crate) fn remove(&mut self, id: JobId) -> Option<Letter> {
        let letter = self.letters.remove(&id)?;
        self.by_death.remove(&(letter.died, id));
        Some(letter)
    }

    pub(crate) fn get(&self, id: JobId) -> Option<&Letter> {
        self.letters.get(&id)
    }

    /// The letters whose ids come after `after`, the oldest job first.
    pub(crate) fn after(&self, after: Option<JobId>) -> impl Iterator<Item = (&JobId, &Letter)> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.letters.range((start, Bound::Unbounded))
    }

    pub(crate) fn last_id(&self) -> Option<JobId> {
        self.letters.last_key_value().map(|(id, _)| *id)
    }

    /// Removes up to `most` letters whose retention is over, and answers how many.
    pub(crate) fn purge(&mut self, now: Moment, retention: Duration, most: usize) -> usize {
        let mut purged = 0;
        while purged < most
            && let Some((died, id)) = self.first_death()
            && died.after(retention) <= now
        {
            self.remove(id);
            purged += 1;
        }
        purged
    }

    /// When the letter that is longest dead died.
    pub(crate) fn first_death(&self) -> Option<(Moment, JobId)> {
        self.by_death.first().copied()
    }
}
