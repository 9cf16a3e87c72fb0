use std::sync::Arc;

use tokio::sync::{Semaphore, SemaphorePermit};

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
        let mut count = usize::from(self.0.acquire().await.map(SemaphorePermit::forget).is_ok());
        let more = self.0.available_permits();
        if let Ok(permits) = self.0.try_acquire_many(more.try_into().unwrap_or(u32::MAX)) {
            permits.forget();
            count += more;
        }
        FreeSlots {
            slots: Arc::clone(&self.0),
            count,
        }
    }
}

impl FreeSlots {
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
