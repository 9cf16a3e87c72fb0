//! An order and the job that ships it, in one transaction: both are there, or neither is.
//!
//! ```text
//! cargo run -p goqueue-examples --features mysql --example transactional_enqueue -- \
//!     mysql://root@127.0.0.1:3306/shop
//! ```
//!
//! Needs a MySQL or MariaDB with an empty database, of which the URL may also come in `GOQUEUE_DRIVER`.
//! `cargo xtask with mariadb` starts one that goes with the command behind it.

use std::error::Error;

use goqueue::{
    mysql::{
        EnqueueIn, MysqlDriver,
        sqlx::{self, MySqlPool},
    },
    prelude::*,
};
use serde::{Deserialize, Serialize};

/// Ships what an order says.
#[derive(Debug, Serialize, Deserialize, Job)]
#[job(name = "order.ship", queue = "orders")]
struct Ship {
    order: u64,
}

impl Handler for Ship {
    async fn handle(self, cx: JobContext) -> JobResult {
        let pool = cx.state::<MySqlPool>()?;
        let shipped = sqlx::query("UPDATE example_orders SET shipped = 1 WHERE id = ?")
            .bind(self.order)
            .execute(pool)
            .await?;
        // There is no job without its order, so this says that somebody deleted it meanwhile.
        if shipped.rows_affected() == 0 {
            return Err(JobError::discard(format!("order {} is gone", self.order)));
        }
        println!("order {}: shipped", self.order);
        Ok(())
    }
}

/// Takes an order. Whatever fails here, or a process that dies anywhere in between, leaves neither a
/// row nor a job.
async fn take(
    pool: &MySqlPool,
    queue: &Queue,
    order: u64,
    stock: u64,
) -> Result<(), Box<dyn Error>> {
    let mut tx = pool.begin().await?;
    sqlx::query("INSERT INTO example_orders (id) VALUES (?)")
        .bind(order)
        .execute(&mut *tx)
        .await?;
    queue
        .enqueue_in(&mut tx, Ship { order })
        .unique_key(format!("order-{order}"))
        .await?;
    if order > stock {
        // Dropping a transaction rolls it back: the job goes with the row.
        return Err(format!("order {order}: nothing left to sell").into());
    }
    tx.commit().await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args()
        .nth(1)
        .or(std::env::var("GOQUEUE_DRIVER").ok());
    let url =
        url.ok_or("the URL of a database is missing: mysql://user:password@host:3306/shop")?;
    let pool = MySqlPool::connect(&url).await?;
    sqlx::raw_sql(
        "CREATE TABLE IF NOT EXISTS example_orders \
         (id BIGINT UNSIGNED PRIMARY KEY, shipped BOOL NOT NULL DEFAULT 0) ENGINE=InnoDB; \
         DELETE FROM example_orders",
    )
    .execute(&pool)
    .await?;

    // The driver works with the pool that the program has already.
    let driver = MysqlDriver::with_pool(pool.clone(), &Config::default()).await?;
    let queue = Queue::new(driver);
    for order in 1..=4 {
        match take(&pool, &queue, order, 3).await {
            Ok(()) => println!("order {order}: taken"),
            Err(error) => println!("{error}"),
        }
    }

    let worker = Worker::builder(&queue).state(pool.clone()).build()?;
    let report = worker.drain().await?;
    let orders: Vec<(u64, bool)> =
        sqlx::query_as("SELECT id, shipped FROM example_orders ORDER BY id")
            .fetch_all(&pool)
            .await?;
    println!(
        "{} jobs, {} orders, all shipped: {}",
        report.finished,
        orders.len(),
        orders.iter().all(|its| its.1)
    );
    Ok(())
}
