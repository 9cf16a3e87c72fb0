//! Finding a driver again behind a handle that knows only its capabilities.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// What this program has connected, by where the capabilities are: those are what a handle shows,
/// through whatever is wrapped around a driver.
#[derive(Debug)]
pub(crate) struct Registry<T>(Mutex<BTreeMap<usize, Weak<T>>>);

impl<T> Registry<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<usize, Weak<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets [`find`](Registry::find) find what has these capabilities.
    pub(crate) fn register<C>(&self, capabilities: &C, found: &Arc<T>) {
        let mut known = self.known();
        known.retain(|_, one| one.strong_count() > 0);
        known.insert(
            std::ptr::from_ref(capabilities).addr(),
            Arc::downgrade(found),
        );
    }

    pub(crate) fn find<C>(&self, capabilities: &C) -> Option<Arc<T>> {
        self.known()
            .get(&std::ptr::from_ref(capabilities).addr())?
            .upgrade()
    }
}
