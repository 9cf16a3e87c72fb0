//! How a reservation that waits learns of a job pushed through the same driver.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use goqueue_core::QueueName;
use tokio::sync::Notify;

/// Who waits for which queues.
#[derive(Debug, Default)]
pub(crate) struct Wakeups(Mutex<Vec<Arc<Waiter>>>);

#[derive(Debug)]
struct Waiter {
    queues: Vec<QueueName>,
    notify: Notify,
}

impl Wakeups {
    /// Starts to listen: what is pushed from now on is not missed.
    pub(crate) fn listen(&self, queues: Vec<QueueName>) -> Listener<'_> {
        let waiter = Arc::new(Waiter {
            queues,
            notify: Notify::new(),
        });
        self.waiters().push(Arc::clone(&waiter));
        Listener {
            wakeups: self,
            waiter,
        }
    }

    /// Wakes everyone who waits for one of these queues.
    pub(crate) fn wake<'a>(&self, queues: impl IntoIterator<Item = &'a QueueName>) {
        let waiters = self.waiters();
        if waiters.is_empty() {
            return;
        }
        let mut last = None;
        for queue in queues {
            // Most batches are for one queue.
            if last.replace(queue) == Some(queue) {
                continue;
            }
            for waiter in waiters
                .iter()
                .filter(|waiter| waiter.queues.contains(queue))
            {
                waiter.notify.notify_one();
            }
        }
    }

    fn waiters(&self) -> MutexGuard<'_, Vec<Arc<Waiter>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Listens until it is dropped.
#[derive(Debug)]
pub(crate) struct Listener<'a> {
    wakeups: &'a Wakeups,
    waiter: Arc<Waiter>,
}

impl Listener<'_> {
    /// Resolves when something was pushed since the last time it did.
    pub(crate) async fn woken(&self) {
        self.waiter.notify.notified().await;
    }
}

impl Drop for Listener<'_> {
    fn drop(&mut self) {
        self.wakeups
            .waiters()
            .retain(|waiter| !Arc::ptr_eq(waiter, &self.waiter));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn only_the_queues_listened_to_wake() {
        let queue = |name| QueueName::new(name).unwrap();
        let wakeups = Wakeups::default();
        let listener = wakeups.listen(vec![queue("a"), queue("b")]);
        wakeups.wake([&queue("c")]);
        let woken = tokio::time::timeout(Duration::from_millis(20), listener.woken()).await;
        assert!(woken.is_err());
        wakeups.wake([&queue("c"), &queue("b")]);
        listener.woken().await;
        drop(listener);
        assert!(wakeups.waiters().is_empty());
    }
}
