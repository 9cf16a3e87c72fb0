//! Where to begin looking for jobs in a queue with a backlog.
//!
//! What was taken leaves dead entries at the front of the index until the server clears them away,
//! which it puts off while it is busy, and altogether while anybody has an old transaction open. A
//! look that starts at the very front goes through all of them. So once many jobs were taken from a
//! queue that always had more, the next look starts where the last one ended. Jobs may come to lie
//! in front of that: released ones, held ones whose turn it is, those of a transaction that took
//! long to commit. What this driver does itself takes it back to the front at once; what others do
//! is found by a look from the front now and then, which is the rarer the longer it takes.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use goqueue_core::QueueName;
use tokio::time::Instant;

/// At most one part in this many of the time goes into looks from the front.
const SHARE: u32 = 20;
/// Fewer dead entries than this are gone through in no time.
const MANY: usize = 1_000;

/// A place in the order of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) visible_after: i64,
    pub(crate) seq: u64,
}

/// How a look began, and how long it took from the front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    FromFront(Duration),
    FromFloor,
}

#[derive(Debug, Default)]
pub(crate) struct Floors(Mutex<HashMap<QueueName, Floor>>);

#[derive(Clone, Copy, Debug)]
struct Floor {
    at: Place,
    /// When to look from the front again.
    until: Instant,
    /// How many jobs were found since the queue last had no more.
    found: usize,
}

impl Floors {
    /// The place to begin behind; nothing is from the front.
    pub(crate) fn of(&self, queue: &QueueName) -> Option<Place> {
        let floor = self.floors().get(queue).copied()?;
        (floor.found >= MANY && Instant::now() < floor.until).then_some(floor.at)
    }

    /// A look from the front, or from a floor, that took `time` found `found` jobs, the last one
    /// `at`, and there are more.
    pub(crate) fn advance(&self, queue: &QueueName, look: Look, at: Place, found: usize) {
        let mut floors = self.floors();
        let before = floors.get(queue).copied();
        let until = match (look, before) {
            (Look::FromFloor, Some(floor)) => floor.until,
            (Look::FromFloor, None) => return,
            (Look::FromFront(time), _) => Instant::now() + time * SHARE,
        };
        let found = found + before.map_or(0, |floor| floor.found);
        floors.insert(queue.clone(), Floor { at, until, found });
    }

    /// The next look begins at the front.
    pub(crate) fn forget<'a>(&self, queues: impl IntoIterator<Item = &'a QueueName>) {
        let mut floors = self.floors();
        for queue in queues {
            floors.remove(queue);
        }
    }

    fn floors(&self) -> MutexGuard<'_, HashMap<QueueName, Floor>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_floor_holds_for_a_multiple_of_what_a_look_from_the_front_takes() {
        let (floors, queue) = (Floors::default(), QueueName::new("q").unwrap());
        let (time, pass) = (Duration::from_millis(10), tokio::time::advance);
        let place = |seq| Place {
            visible_after: 7,
            seq,
        };
        floors.advance(&queue, Look::FromFront(time), place(1), MANY - 1);
        assert_eq!(floors.of(&queue), None, "too few to matter");
        floors.advance(&queue, Look::FromFront(time), place(5), 1);
        pass(time * (SHARE - 1)).await;
        assert_eq!(floors.of(&queue), Some(place(5)));
        floors.advance(&queue, Look::FromFloor, place(9), 100);
        assert_eq!(floors.of(&queue), Some(place(9)));
        pass(time).await;
        assert_eq!(
            floors.of(&queue),
            None,
            "it is not put off by looks that are no such"
        );
        floors.advance(&queue, Look::FromFront(time), place(12), 100);
        assert_eq!(floors.of(&queue), Some(place(12)));
        floors.forget([&queue]);
        floors.advance(&queue, Look::FromFloor, place(13), MANY);
        assert_eq!(
            floors.of(&queue),
            None,
            "what was forgotten meanwhile stays so"
        );
    }
}
