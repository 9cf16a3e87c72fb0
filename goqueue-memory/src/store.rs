use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use goqueue_core::QueueName;

use crate::{
    arena::Arena,
    clock::{Clock, Moment},
    config::Settings,
    job::QueueIndex,
    queue::{Common, QueueState},
};

/// The most jobs that one hold of the lock moves on their account of time.
pub(crate) const BOUND: usize = 1_024;

/// A store behind its lock. One per driver, unless connections share a name.
#[derive(Debug)]
pub(crate) struct Shared {
    store: Mutex<Store>,
    pub(crate) settings: Settings,
}

/// All queues of a store.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) common: Common,
    pub(crate) queues: Vec<QueueState>,
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    names: HashMap<QueueName, QueueIndex>,
}

impl Shared {
    pub(crate) fn new(settings: Settings) -> Self {
        let store = Store {
            common: Common {
                jobs: Arena::default(),
                stored: 0,
                now: Moment::START,
                bells: Vec::new(),
                bodies: Vec::new(),
            },
            queues: Vec::new(),
            settings,
            clock: Clock::start(),
            names: HashMap::new(),
        };
        Self {
            store: Mutex::new(store),
            settings,
        }
    }

    /// Runs a call on the store, then wakes whom it concerns.
    pub(crate) fn with<T>(&self, call: impl FnOnce(&mut Store) -> T) -> T {
        // A panic leaves at worst one job out of its place: better than no queue at all.
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        store.common.now = store.clock.now();
        let answer = call(&mut store);
        let bells = std::mem::take(&mut store.common.bells);
        let bodies = std::mem::take(&mut store.common.bodies);
        drop(store);
        drop(bodies);
        for bell in bells {
            bell.notify_one();
        }
        answer
    }

    /// Moves the clock and has every waiting reservation look at it.
    pub(crate) fn advance(&self, by: Duration) {
        self.with(|store| {
            store.clock.advance(by);
            for queue in &mut store.queues {
                queue.waiters.wake(&mut store.common.bells);
            }
        });
    }
}

impl Store {
    /// The queue of this name, made when it is new.
    pub(crate) fn index(&mut self, name: &QueueName) -> QueueIndex {
        if let Some(index) = self.names.get(name) {
            return *index;
        }
        let index = QueueIndex(self.queues.len() as u32);
        self.queues.push(QueueState::new(name.clone(), index));
        self.names.insert(name.clone(), index);
        index
    }

    /// The queue of this name, if it is known, and what it works with.
    pub(crate) fn find(&mut self, name: &QueueName) -> Option<(&mut QueueState, &mut Common)> {
        let index = *self.names.get(name)?;
        Some(self.queue(index))
    }

    pub(crate) fn queue(&mut self, index: QueueIndex) -> (&mut QueueState, &mut Common) {
        (&mut self.queues[index.0 as usize], &mut self.common)
    }
}

/// The capacity up to which a container of `len` items is left as it is.
pub(crate) fn slack(len: usize) -> usize {
    len.saturating_mul(4).saturating_add(1_024)
}
