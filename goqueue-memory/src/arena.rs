use std::ops::{Index, IndexMut};

use goqueue_core::{JobId, driver::LeaseToken};

use crate::job::Job;

/// Where a live job is kept. Good until the job leaves the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(u32);

/// Slots that have handed out this many turns are kept for good when the arena shrinks: the turns
/// of later slots begin above those of the dropped ones, and must not run out soon.
const TURNS_WORTH_DROPPING: u32 = 1 << 31;

/// All live jobs. A slot is reused, but a lease token never comes again: it is the slot's place and
/// how many leases the slot has given, whichever job was in it.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    slots: Vec<Slot>,
    free: Vec<u32>,
    len: usize,
    first_turn: u32,
}

#[derive(Debug)]
struct Slot {
    turns: u32,
    job: Option<Job>,
}

impl Arena {
    pub(crate) fn insert(&mut self, job: Job) -> Key {
        self.len += 1;
        if let Some(place) = self.free.pop() {
            self.slots[place as usize].job = Some(job);
            return Key(place);
        }
        // The greatest capacity is far below what fits into 32 bits.
        let place = self.slots.len() as u32;
        self.slots.push(Slot {
            turns: self.first_turn,
            job: Some(job),
        });
        Key(place)
    }

    pub(crate) fn remove(&mut self, key: Key) -> Job {
        let slot = &mut self.slots[key.0 as usize];
        let job = slot.job.take();
        self.len -= 1;
        // A slot that has no turn left is not used again.
        if slot.turns < u32::MAX {
            self.free.push(key.0);
        }
        present(job)
    }

    pub(crate) fn get(&self, key: Key) -> Option<&Job> {
        self.slots.get(key.0 as usize)?.job.as_ref()
    }

    /// The token of the job's next lease; `None` when its slot has no turn left.
    pub(crate) fn next_token(&mut self, key: Key) -> Option<LeaseToken> {
        let slot = &mut self.slots[key.0 as usize];
        slot.turns = slot.turns.checked_add(1)?;
        Some((u64::from(slot.turns) << 32 | u64::from(key.0)).into())
    }

    /// The job that was last leased under this token, if it is still there.
    pub(crate) fn find(&self, id: JobId, token: &LeaseToken) -> Option<Key> {
        let number = token.as_number()?;
        let (turn, place) = ((number >> 32) as u32, number as u32);
        let slot = self.slots.get(place as usize)?;
        let job = slot.job.as_ref()?;
        (slot.turns == turn && job.id == id).then_some(Key(place))
    }

    /// Gives back memory that a burst of jobs left behind.
    pub(crate) fn shrink(&mut self) {
        if self.slots.len() <= crate::store::slack(self.len) {
            return;
        }
        let before = self.slots.len();
        while let Some(last) = self.slots.last()
            && last.job.is_none()
            && last.turns < TURNS_WORTH_DROPPING
        {
            self.first_turn = self.first_turn.max(last.turns);
            self.slots.pop();
        }
        if self.slots.len() == before {
            return;
        }
        let end = self.slots.len() as u32;
        self.free.retain(|place| *place < end);
        self.slots.shrink_to_fit();
        self.free.shrink_to_fit();
    }
}

#[expect(
    clippy::expect_used,
    reason = "a key is dropped with its job, so a miss is a bug here"
)]
fn present<T>(job: Option<T>) -> T {
    job.expect("a key of a job that is gone")
}

impl Index<Key> for Arena {
    type Output = Job;

    fn index(&self, key: Key) -> &Job {
        present(self.slots[key.0 as usize].job.as_ref())
    }
}

impl IndexMut<Key> for Arena {
    fn index_mut(&mut self, key: Key) -> &mut Job {
        present(self.slots[key.0 as usize].job.as_mut())
    }
}

#[cfg(test)]
impl Arena {
    /// Leaves the slot of a job with `left` turns.
    pub(crate) fn wear_out(&mut self, key: Key, left: u32) {
        self.slots[key.0 as usize].turns = u32::MAX - left;
    }

    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_slot_never_repeats_a_token() {
        let mut arena = Arena::default();
        let first = Job::sample();
        let id = first.id;
        let key = arena.insert(first);
        let old = arena.next_token(key).unwrap();
        assert_eq!(arena.find(id, &old), Some(key));
        arena.remove(key);
        assert_eq!(arena.find(id, &old), None);

        // The same job again, in the same slot: not even the id tells them apart.
        let mut again = Job::sample();
        again.id = id;
        assert_eq!(arena.insert(again), key);
        let new = arena.next_token(key).unwrap();
        assert_ne!(old, new);
        assert_eq!(arena.find(id, &old), None);
        assert_eq!(arena.find(id, &new), Some(key));
        assert_eq!(arena.find(JobId::new(), &new), None);
        assert_eq!(arena.find(id, &"text".into()), None);
        assert_eq!(arena.find(id, &u64::MAX.into()), None);
    }

    #[test]
    fn a_slot_without_turns_is_retired() {
        let mut arena = Arena::default();
        let key = arena.insert(Job::sample());
        arena.wear_out(key, 1);
        assert!(arena.next_token(key).is_some());
        assert!(arena.next_token(key).is_none());
        arena.remove(key);
        assert_ne!(arena.insert(Job::sample()), key);
    }

    #[test]
    fn shrinking_keeps_live_jobs_and_old_tokens_stale() {
        let mut arena = Arena::default();
        let keys: Vec<_> = (0..10_000).map(|_| arena.insert(Job::sample())).collect();
        let last = keys[9_999];
        let id = arena[last].id;
        let old = arena.next_token(last).unwrap();
        for key in &keys[10..] {
            arena.remove(*key);
        }
        arena.shrink();
        assert_eq!((arena.len(), arena.slots()), (10, 10));
        assert!(keys[..10].iter().all(|key| arena.get(*key).is_some()));

        while arena.slots() < 10_000 {
            let mut job = Job::sample();
            job.id = id;
            arena.insert(job);
        }
        let new = arena.next_token(last).unwrap();
        assert_ne!(old, new);
        assert_eq!(arena.find(id, &old), None);
    }

    /// What the crate's documentation says a job takes.
    #[test]
    fn a_slot_is_104_bytes() {
        assert_eq!(size_of::<Slot>(), 104);
    }
}
