use std::sync::Arc;

use tokio::sync::Notify;

use crate::clock::Moment;

/// The reservations that wait for a job of one queue.
#[derive(Debug, Default)]
pub(crate) struct Waiters(Vec<Waiter>);

#[derive(Debug)]
struct Waiter {
    bell: Arc<Notify>,
    /// When it looks again on its own.
    until: Moment,
}

/// The bells to ring once the store is unlocked.
pub(crate) type Bells = Vec<Arc<Notify>>;

impl Waiters {
    pub(crate) fn add(&mut self, bell: &Arc<Notify>, until: Moment) {
        self.0.push(Waiter {
            bell: Arc::clone(bell),
            until,
        });
    }

    pub(crate) fn remove(&mut self, bell: &Arc<Notify>) {
        self.0.retain(|waiter| !Arc::ptr_eq(&waiter.bell, bell));
    }

    /// Has all of them look again.
    pub(crate) fn wake(&mut self, bells: &mut Bells) {
        bells.extend(self.0.drain(..).map(|waiter| waiter.bell));
    }

    /// Tells those that would sleep through `event`.
    pub(crate) fn wake_before(&mut self, event: Moment, bells: &mut Bells) {
        bells.extend(
            self.0
                .extract_if(.., |waiter| waiter.until > event)
                .map(|w| w.bell),
        );
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
