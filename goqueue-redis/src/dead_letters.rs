use std::fmt;

use async_trait::async_trait;
use goqueue_core::{BoxError, Config, DeadLetter, DeadLetters, Envelope, Result};

use crate::{
    RedisDriver,
    error::Operation,
    letter,
    push::millis,
    scripts::{Args, DEAD_STORE},
};

/// The dead letters of a Redis server, for workers whose jobs live elsewhere.
///
/// They are kept under the queue in which each job died, next to those of the Redis driver itself,
/// and are seen and steered through its [`Inspect`](goqueue_core::driver::Inspect): requeueing makes
/// them jobs of that Redis queue. The same letter stored twice is one letter. Those whose retention
/// is over go when others come, a hundred at a time.
///
/// ```no_run
/// # async fn example(queue: goqueue_core::Queue) -> goqueue_core::Result<()> {
/// use goqueue_core::Worker;
/// use goqueue_redis::RedisDeadLetters;
///
/// let sink = RedisDeadLetters::connect("redis://127.0.0.1:6379/1", queue.config()).await?;
/// let worker = Worker::builder(&queue).dead_letters(sink);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct RedisDeadLetters(RedisDriver);

impl RedisDeadLetters {
    /// Connects to a URL, with the `[redis]` table of a configuration whose own driver is another.
    ///
    /// # Errors
    /// As for [`RedisDriver::connect`].
    pub async fn connect(url: impl AsRef<str>, config: &Config) -> Result<Self> {
        let config = config.clone().with_driver(url.as_ref());
        Ok(Self(RedisDriver::connect(&config).await?))
    }

    /// The driver underneath, to list the letters with.
    #[must_use]
    pub fn driver(&self) -> &RedisDriver {
        &self.0
    }

    async fn keep(&self, dead: &DeadLetter) -> Result<()> {
        let inner = &self.0.0;
        let _pass = inner.gate.enter()?;
        // For the case that it is made a job of this server.
        let envelope = Envelope::decode(&dead.body).ok();
        let ordering = envelope
            .as_ref()
            .and_then(|envelope| envelope.ordering_key.as_deref());
        let unique = envelope
            .as_ref()
            .and_then(|envelope| envelope.unique_key.as_deref());
        let keys = inner.keys.of(&dead.queue);
        let mut args = Args::with_capacity(3);
        args.owned(dead.id.as_uuid().as_bytes().to_vec())
            .owned(letter::encode(dead, ordering, unique))
            .number(millis(inner.retention));
        let operation = Operation::DeadLetter;
        inner
            .registry
            .add(&inner.connection, &dead.queue, operation)
            .await?;
        inner
            .connection
            .run(&DEAD_STORE, &keys.dead(), &args)
            .await?;
        Ok(())
    }
}

impl From<RedisDriver> for RedisDeadLetters {
    fn from(driver: RedisDriver) -> Self {
        Self(driver)
    }
}

impl fmt::Debug for RedisDeadLetters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RedisDeadLetters").field(&self.0).finish()
    }
}

#[async_trait]
impl DeadLetters for RedisDeadLetters {
    async fn store(&self, letter: DeadLetter) -> Result<(), BoxError> {
        Ok(self.keep(&letter).await?)
    }
}
