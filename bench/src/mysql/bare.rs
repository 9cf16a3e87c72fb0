//! What the server itself can do: the least statements that are needed, in a loop.

use futures_util::future::try_join_all;
use sqlx::{AssertSqlSafe, MySqlConnection, MySqlPool, Row, mysql::MySqlPoolOptions};

use crate::{
    measures::{BULK, CONCURRENCY},
    sample::{Failure, Meter, Sample},
};

/// What a job weighs beside its payload: about as much as goqueue's envelope.
const AROUND: usize = 160;
/// Rows of a statement.
const ROWS: usize = 32;
const INSERT: &str = "INSERT INTO bare_jobs (queue, visible_after, body) VALUES ";
const ROW: &str = "('default', FLOOR(UNIX_TIMESTAMP(NOW(3)) * 1000), ?)";

async fn insert(
    connection: &mut MySqlConnection,
    jobs: usize,
    record: &[u8],
) -> Result<(), Failure> {
    let text = format!("{INSERT}{}", [ROW].repeat(jobs).join(", "));
    let mut query = sqlx::query(AssertSqlSafe(text));
    for _ in 0..jobs {
        query = query.bind(record);
    }
    query.execute(connection).await?;
    Ok(())
}

/// A table with what a queue of leases needs, and nothing more.
#[derive(Clone)]
pub(crate) struct Bare(MySqlPool);

impl Bare {
    pub(crate) async fn connect(url: &str) -> Result<Self, Failure> {
        let pool = MySqlPoolOptions::new()
            .max_connections(64)
            .test_before_acquire(false)
            .connect(url)
            .await?;
        sqlx::raw_sql(include_str!("table.sql"))
            .execute(&pool)
            .await?;
        Ok(Self(pool))
    }

    /// Empties the tables of everybody.
    pub(crate) async fn empty(&self) -> Result<(), Failure> {
        let tables: Vec<String> = sqlx::query_scalar(include_str!("tables.sql"))
            .fetch_all(&self.0)
            .await?;
        for table in tables {
            sqlx::raw_sql(AssertSqlSafe(format!("TRUNCATE TABLE {table}")))
                .execute(&self.0)
                .await?;
        }
        Ok(())
    }

    /// A number that the server counts.
    pub(crate) async fn status(&self, name: &str) -> Result<f64, Failure> {
        let row = sqlx::query("SHOW GLOBAL STATUS WHERE Variable_name = ?")
            .bind(name)
            .fetch_one(&self.0)
            .await?;
        Ok(row.try_get::<String, _>(1)?.parse()?)
    }

    /// Bytes of a table and its indexes, as they are on disk.
    pub(crate) async fn bytes_of(&self, table: &str) -> Result<f64, Failure> {
        let text = format!("ANALYZE TABLE {table}");
        sqlx::raw_sql(AssertSqlSafe(text)).execute(&self.0).await?;
        let bytes: u64 = sqlx::query_scalar(include_str!("bytes.sql"))
            .bind(table)
            .fetch_one(&self.0)
            .await?;
        Ok(bytes as f64)
    }

    /// Stores jobs in a transaction, in statements that are kept prepared and are not so long that TLS
    /// cuts them in two.
    async fn push(&self, jobs: usize, payload: usize) -> Result<(), Failure> {
        let record = vec![b'x'; payload + AROUND];
        let mut transaction = self.0.begin().await?;
        let mut left = jobs;
        while left > 0 {
            let some = left.min(ROWS);
            insert(&mut transaction, some, &record).await?;
            left -= some;
        }
        Ok(transaction.commit().await?)
    }

    pub(crate) async fn enqueue(
        &self,
        callers: usize,
        jobs: usize,
        payload: usize,
    ) -> Result<Sample, Failure> {
        let meter = Meter::start();
        let each = jobs / callers;
        let tasks = (0..callers).map(|_| {
            let bare = self.clone();
            tokio::spawn(async move {
                let record = vec![b'x'; payload + AROUND];
                for _ in 0..each {
                    insert(&mut *bare.0.acquire().await?, 1, &record).await?;
                }
                Ok::<_, Failure>(())
            })
        });
        for result in try_join_all(tasks).await? {
            result?;
        }
        Ok(meter.stop(each * callers))
    }

    pub(crate) async fn bulk(&self, jobs: usize, payload: usize) -> Result<Sample, Failure> {
        let meter = Meter::start();
        let mut left = jobs;
        while left > 0 {
            let some = left.min(BULK);
            self.push(some, payload).await?;
            left -= some;
        }
        Ok(meter.stop(jobs))
    }

    /// Claims a batch under a lease, deletes it, and so on.
    pub(crate) async fn drain(&self) -> Result<Sample, Failure> {
        let meter = Meter::start();
        let mut done = 0;
        let claim = format!(
            "{} LIMIT {CONCURRENCY} FOR UPDATE SKIP LOCKED",
            include_str!("claim.sql")
        );
        loop {
            let mut transaction = self.0.begin().await?;
            let rows = sqlx::query(AssertSqlSafe(claim.as_str()))
                .fetch_all(&mut *transaction)
                .await?;
            if rows.is_empty() {
                return Ok(meter.stop(done));
            }
            let ids: Result<Vec<String>, _> = rows
                .iter()
                .map(|row| row.try_get::<u64, _>(0).map(|seq| seq.to_string()))
                .collect();
            let ids = ids?.join(",");
            let lease = format!(
                "UPDATE bare_jobs SET visible_after = visible_after + 60000 WHERE seq IN ({ids})"
            );
            sqlx::raw_sql(AssertSqlSafe(lease))
                .execute(&mut *transaction)
                .await?;
            transaction.commit().await?;
            let ack = format!("DELETE FROM bare_jobs WHERE seq IN ({ids})");
            sqlx::raw_sql(AssertSqlSafe(ack)).execute(&self.0).await?;
            done += rows.len();
        }
    }
}
