use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How many jobs of each key run now.
#[derive(Clone, Debug, Default)]
pub(super) struct Places(Arc<Mutex<HashMap<Arc<str>, usize>>>);

/// One running job's place, free again on drop.
#[derive(Debug)]
pub(super) struct Place {
    places: Places,
    key: Arc<str>,
}

impl Places {
    /// `None` when `most` are taken.
    pub(super) fn take(&self, key: &str, most: usize) -> Option<Place> {
        let mut taken = self.lock();
        let key = match taken.get_key_value(key) {
            Some((_, count)) if *count >= most => return None,
            Some((known, _)) => Arc::clone(known),
            None => Arc::from(key),
        };
        *taken.entry(Arc::clone(&key)).or_insert(0) += 1;
        drop(taken);
        Some(Place {
            places: self.clone(),
            key,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        if let Some(count) = taken.get_mut(&self.key) {
            *count -= 1;
            // Keys come and go; one that nothing runs for is not kept.
            if *count == 0 {
                taken.remove(&self.key);
            }
        }
    }
}
