use std::fmt;

use async_trait::async_trait;
use goqueue_core::{BoxError, Config, DeadLetter, DeadLetters, Result};
use sqlx::{AssertSqlSafe, MySqlPool};

use crate::{MysqlDriver, error::Fault};

/// Keeps the dead letters of any driver in MySQL: give it to
/// [`WorkerBuilder::dead_letters`](goqueue_core::WorkerBuilder::dead_letters).
///
/// They are in the same table as those of [`MysqlDriver`], and what looks into that one shows them:
/// [`driver`](MysqlDeadLetters::driver) with the same configuration.
#[derive(Clone)]
pub struct MysqlDeadLetters(MysqlDriver);

impl MysqlDeadLetters {
    /// Connects to a URL, with the `[mysql]` table of a configuration whose own driver is another.
    ///
    /// # Errors
    /// As for [`MysqlDriver::connect`].
    pub async fn connect(url: impl AsRef<str>, config: &Config) -> Result<Self> {
        let config = config.clone().with_driver(url.as_ref());
        Ok(Self(MysqlDriver::connect(&config).await?))
    }

    /// Uses a pool that the program has already.
    ///
    /// # Errors
    /// As for [`MysqlDriver::with_pool`].
    pub async fn with_pool(pool: MySqlPool, config: &Config) -> Result<Self> {
        Ok(Self(MysqlDriver::with_pool(pool, config).await?))
    }

    /// The driver underneath, to list the letters with.
    #[must_use]
    pub fn driver(&self) -> &MysqlDriver {
        &self.0
    }

    async fn keep(&self, letter: &DeadLetter) -> Result<(), Fault> {
        let shared = self.0.shared();
        let mut session = shared
            .connections
            .session(std::time::Duration::ZERO)
            .await?;
        let query = sqlx::query(AssertSqlSafe(shared.sql.store_letter.with(&[])))
            .bind(letter.queue.as_str())
            .bind(&letter.id.as_uuid().as_bytes()[..])
            .bind(letter.reason.as_str())
            .bind(letter.attempts)
            .bind(i64::try_from(letter.died_at).unwrap_or(i64::MAX))
            .bind(&letter.error)
            .bind(&letter.body[..]);
        match query.execute(session.connection()?).await {
            Ok(_) => {
                session.settled();
                Ok(())
            }
            Err(error) => Err(session.failed(error.into()).await),
        }
    }
}

impl From<MysqlDriver> for MysqlDeadLetters {
    fn from(driver: MysqlDriver) -> Self {
        Self(driver)
    }
}

#[async_trait]
impl DeadLetters for MysqlDeadLetters {
    async fn store(&self, letter: DeadLetter) -> Result<(), BoxError> {
        let shared = self.0.shared();
        let kept = shared.settled(|| self.keep(&letter));
        shared
            .call("store a dead letter", kept)
            .await
            .map_err(Into::into)
    }
}

impl fmt::Debug for MysqlDeadLetters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MysqlDeadLetters").field(&self.0).finish()
    }
}
