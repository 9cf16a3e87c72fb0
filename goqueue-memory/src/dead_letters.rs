use async_trait::async_trait;
use goqueue_core::{BoxError, Config, DeadLetter, DeadLetters, Envelope, Error, Result};

use crate::{
    MemoryDriver,
    clock::Moment,
    dead::Letter,
    job::{Keys, UniqueHold},
    store::{BOUND, Store},
};

/// Keeps the dead letters of any driver in the memory of this process, for tests and for programs
/// that look at them soon: they are lost with the process. Give it to
/// [`WorkerBuilder::dead_letters`](goqueue_core::WorkerBuilder::dead_letters).
///
/// They are kept under the queue in which each job died, next to those of the store's own jobs, and
/// the [driver](MemoryDeadLetters::driver) underneath lists and requeues them: a requeued letter is a
/// job of that store. The same letter stored twice is one letter. Those whose retention is over go
/// when others come. A store that is full takes none, and the worker tries again until there is room.
///
/// ```
/// # use goqueue_core::{Queue, Result, Worker};
/// use goqueue_core::driver::{Inspect, PageRequest};
/// use goqueue_memory::{MemoryDeadLetters, MemoryDriver};
///
/// # async fn example(queue: Queue) -> Result<()> {
/// let sink = MemoryDeadLetters::from(MemoryDriver::new());
/// let worker = Worker::builder(&queue).dead_letters(sink.clone());
/// // Later:
/// for name in sink.driver().queues().await? {
///     let page = sink.driver().dead_letters(&name, PageRequest::first(100)).await?;
///     println!("{name}: {:?}", page.items);
/// }
/// # drop(worker);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct MemoryDeadLetters(MemoryDriver);

impl MemoryDeadLetters {
    /// Opens the store of a URL, `memory://NAME`, with the other settings of a configuration whose
    /// own driver is another.
    ///
    /// # Errors
    /// As for [`MemoryDriver::connect`].
    pub fn connect(url: impl AsRef<str>, config: &Config) -> Result<Self> {
        let config = config.clone().with_driver(url.as_ref());
        Ok(Self(MemoryDriver::connect(&config)?))
    }

    /// The driver underneath, to list the letters with.
    #[must_use]
    pub fn driver(&self) -> &MemoryDriver {
        &self.0
    }
}

impl From<MemoryDriver> for MemoryDeadLetters {
    fn from(driver: MemoryDriver) -> Self {
        Self(driver)
    }
}

#[async_trait]
impl DeadLetters for MemoryDeadLetters {
    async fn store(&self, letter: DeadLetter) -> Result<(), BoxError> {
        Ok(self.0.call(|store| store.keep(letter))??)
    }
}

impl Store {
    fn keep(&mut self, dead: DeadLetter) -> Result<()> {
        let (capacity, retention) = (self.settings.capacity, self.settings.retention);
        let index = self.index(&dead.queue);
        let (queue, common) = self.queue(index);
        // Nobody may be doing the upkeep of a store that has no jobs.
        common.stored -= queue.dead.purge(common.now, retention, BOUND);
        if queue.dead.get(dead.id).is_none() && common.stored >= capacity {
            let queue = queue.name.as_str().to_owned();
            return Err(Error::QueueFull { queue, capacity });
        }
        // For the case that it is made a job of this store.
        let envelope = Envelope::decode(&dead.body).ok();
        let (ordering, unique) = envelope.map_or((None, None), |envelope| {
            (envelope.ordering_key, envelope.unique_key)
        });
        let letter = Letter {
            reason: dead.reason,
            error: dead.error,
            attempts: dead.attempts,
            died: common.now,
            died_at: dead.died_at,
            keys: Keys {
                lane: ordering.map(|key| queue.lanes.name(&key)),
                unique: unique.map(|key| UniqueHold {
                    key: key.into(),
                    until: Moment::START,
                }),
            },
            body: dead.body,
        };
        queue.used = true;
        if queue.dead.insert(dead.id, letter).is_none() {
            common.stored += 1;
        }
        Ok(())
    }
}
