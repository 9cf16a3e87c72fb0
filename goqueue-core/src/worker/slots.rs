use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, sleep},
};

/// How many more jobs a worker may start.
#[derive(Clone, Debug)]
pub(super) struct Slots(Arc<Semaphore>);

/// Places that jobs are being reserved for. What is not filled is free again on drop.
#[derive(Debug)]
pub(super) struct FreeSlots {
    slots: Arc<Semaphore>,
    count: usize,
}

/// One running job's place, free again on drop.
#[derive(Debug)]
pub(super) struct Slot(Arc<Semaphore>);

impl Slots {
    pub(super) fn new(concurrency: usize) -> Self {
        Self(Arc::new(Semaphore::new(concurrency)))
    }

    /// Waits until one is free, and takes all that are.
    pub(super) async fn take_free(&self) -> FreeSlots {
        // The semaphore is never closed, so acquiring cannot fail.
        let count = usize::from(self.0.acquire().await.map(SemaphorePermit::forget).is_ok());
        let mut free = FreeSlots {
            slots: Arc::clone(&self.0),
            count,
        };
        free.take_more();
        free
    }
}

impl FreeSlots {
    /// Takes those that have come free since.
    fn take_more(&mut self) {
        let more = self.slots.available_permits();
        if let Ok(permits) = self
            .slots
            .try_acquire_many(more.try_into().unwrap_or(u32::MAX))
        {
            permits.forget();
            self.count += more;
        }
    }

    /// Waits `patience` at most until there are `enough`, and lets go of those beyond the last
    /// multiple of that many.
    pub(super) async fn gather(&mut self, enough: usize, patience: Duration) {
        let until = Instant::now() + patience;
        while self.count < enough && Instant::now() < until {
            sleep(patience / 20).await;
            self.take_more();
        }
        let odd = self.count % enough.max(1);
        if self.count > enough && odd > 0 {
            self.count -= odd;
            self.slots.add_permits(odd);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The place of one job, or `None` when all are filled.
    pub(super) fn fill_one(&mut self) -> Option<Slot> {
        self.count = self.count.checked_sub(1)?;
        Some(Slot(Arc::clone(&self.slots)))
    }
}

impl Drop for FreeSlots {
    fn drop(&mut self) {
        self.slots.add_permits(self.count);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(100);

    #[tokio::test(start_paused = true)]
    async fn enough_slots_are_waited_for_but_not_for_long() {
        let slots = Slots::new(20);
        let mut first = slots.take_free().await;
        let running: Vec<_> = (0..20).filter_map(|_| first.fill_one()).collect();
        drop(first);
        let began = Instant::now();
        let free_up = async {
            for slot in running {
                sleep(PATIENCE / 15).await;
                drop(slot);
            }
        };
        let gather = async {
            let mut free = slots.take_free().await;
            free.gather(10, PATIENCE).await;
            (free.len(), began.elapsed())
        };
        let ((), (count, took)) = tokio::join!(free_up, gather);
        assert!(count == 10 && took < PATIENCE * 2, "{count} after {took:?}");

        let few = Slots::new(3);
        let (began, mut free) = (Instant::now(), few.take_free().await);
        free.gather(10, PATIENCE).await;
        assert_eq!((free.len(), began.elapsed()), (3, PATIENCE));
    }

    #[tokio::test]
    async fn what_would_not_fill_a_call_is_let_go() {
        let slots = Slots::new(27);
        let mut free = slots.take_free().await;
        free.gather(10, PATIENCE).await;
        assert_eq!(free.len(), 20);
        assert_eq!(slots.take_free().await.len(), 7);
        free.gather(1, PATIENCE).await;
        assert_eq!(free.len(), 20);
    }
}
