//! Enqueueing inside the caller's own transaction.

mod support;

use std::time::Duration;

use goqueue_core::{
    Enqueued, Error, Job, Queue,
    driver::{Driver, LeaseOutcome, Verdict},
};
use goqueue_mysql::{
    EnqueueIn, MysqlDriver,
    sqlx::{self, AssertSqlSafe, MySqlPool},
};
use serde::{Deserialize, Serialize};
use support::*;
use tokio::{
    task::JoinSet,
    time::{Instant, timeout},
};

#[derive(Serialize, Deserialize)]
struct Ship {
    order: u64,
}

impl Job for Ship {
    const NAME: &'static str = "order.ship";
    const QUEUE: &'static str = "q";
}

async fn shop(database: &Database) -> MySqlPool {
    database
        .run("CREATE TABLE orders (id BIGINT PRIMARY KEY) ENGINE=InnoDB")
        .await;
    database.pool().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_comes_and_goes_with_the_callers_rows() {
    let database = Database::new().await;
    let pool = shop(&database).await;
    let driver = database.driver().await;
    let queue = Queue::new(driver.clone());
    for isolation in ["REPEATABLE READ", "READ COMMITTED", "SERIALIZABLE"] {
        for (order, commits) in [(1, false), (2, true)] {
            let mut connection = pool.acquire().await.unwrap();
            let text = format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}");
            sqlx::raw_sql(AssertSqlSafe(text))
                .execute(&mut *connection)
                .await
                .unwrap();
            let mut tx = sqlx::Connection::begin(&mut *connection).await.unwrap();
            sqlx::query("INSERT INTO orders VALUES (?)")
                .bind(order)
                .execute(&mut *tx)
                .await
                .unwrap();
            let plain = queue.enqueue_in(&mut tx, Ship { order }).await.unwrap();
            assert!(matches!(plain, Enqueued::Stored(_)));
            let keyed = queue
                .enqueue_in(&mut tx, Ship { order })
                .unique_key("ship")
                .ordering_key("orders")
                .max_attempts(2)
                .await
                .unwrap();
            let again = queue
                .enqueue_in(&mut tx, Ship { order })
                .unique_key("ship")
                .await
                .unwrap();
            assert_eq!(again, Enqueued::Duplicate(keyed.id()));
            assert_eq!(bodies(&driver, 9).await.len(), 0, "seen before the commit");
            if commits {
                tx.commit().await.unwrap();
            } else {
                tx.rollback().await.unwrap();
            }
        }
        assert_eq!(database.number("SELECT COUNT(*) FROM orders").await, 1);
        let jobs = take(&driver, 9).await;
        assert_eq!(jobs.len(), 2, "{isolation}");
        for job in &jobs {
            assert!(String::from_utf8_lossy(&job.body).contains(r#"{"order":2}"#));
            ack(&driver, job).await;
        }
        database.is_empty().await;
        database.run("DELETE FROM orders").await;
    }
    pool.close().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_callers_pool_can_be_the_drivers() {
    let database = Database::new().await;
    let pool = shop(&database).await;
    let driver = MysqlDriver::with_pool(pool.clone(), &database.config())
        .await
        .unwrap();
    let queue = Queue::new(driver.clone());
    queue.enqueue(Ship { order: 1 }).await.unwrap();
    let mut tx = pool.begin().await.unwrap();
    queue
        .enqueue_in(&mut tx, Ship { order: 2 })
        .unique_key("2")
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let jobs = take(&driver, 9).await;
    assert_eq!(jobs.len(), 2);
    for job in &jobs {
        ack(&driver, job).await;
    }
    database.is_empty().await;
    // Closing the driver leaves the pool alone.
    driver.close().await.unwrap();
    assert!(matches!(
        queue.enqueue(Ship { order: 3 }).await,
        Err(Error::Closed { .. })
    ));
    assert_eq!(
        sqlx::query("DELETE FROM orders")
            .execute(&pool)
            .await
            .unwrap()
            .rows_affected(),
        0
    );
    pool.close().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_of_one_connection_is_enough_inside_a_transaction() {
    let database = Database::new().await;
    let pool = sqlx::mysql::MySqlPoolOptions::new()
        .max_connections(1)
        .connect_with(database.options())
        .await
        .unwrap();
    let driver = MysqlDriver::with_pool(pool.clone(), &database.config())
        .await
        .unwrap();
    let queue = Queue::new(driver);
    let mut tx = pool.begin().await.unwrap();
    let job = queue
        .enqueue_in(&mut tx, Ship { order: 1 })
        .unique_key("1")
        .ordering_key("a");
    timeout(Duration::from_secs(3), job)
        .await
        .expect("it waits for itself")
        .unwrap();
    tx.commit().await.unwrap();
    pool.close().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_in_an_open_transaction_holds_nobody_up() {
    let database = Database::new().await;
    let pool = shop(&database).await;
    let driver = database.driver().await;
    let queue = Queue::new(driver.clone());
    let first = queue
        .enqueue(Ship { order: 1 })
        .unique_key("k")
        .ordering_key("o")
        .await
        .unwrap();
    let running = take(&driver, 1).await;

    let mut tx = pool.begin().await.unwrap();
    let second = queue
        .enqueue_in(&mut tx, Ship { order: 2 })
        .unique_key("k")
        .await
        .unwrap();
    assert_eq!(second, Enqueued::Duplicate(first.id()));
    let third = queue
        .enqueue_in(&mut tx, Ship { order: 3 })
        .ordering_key("o")
        .await
        .unwrap();
    assert!(!third.is_duplicate());
    let since = Instant::now();
    assert_eq!(
        end(&driver, &running[0], Verdict::Ack).await,
        LeaseOutcome::Done
    );
    assert!(
        since.elapsed() < Duration::from_secs(1),
        "{:?}",
        since.elapsed()
    );

    // The key is free again for the transaction too, which began before it was.
    let fourth = queue
        .enqueue_in(&mut tx, Ship { order: 4 })
        .unique_key("k")
        .await
        .unwrap();
    assert!(!fourth.is_duplicate(), "{fourth:?}");
    tx.commit().await.unwrap();
    assert_eq!(take(&driver, 9).await.len(), 2);
    pool.close().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_makes_others_wait_for_its_unique_key_alone() {
    let database = Database::new().await;
    let pool = shop(&database).await;
    let driver = database.driver().await;
    let queue = Queue::new(driver.clone());
    let mut tx = pool.begin().await.unwrap();
    let first = queue
        .enqueue_in(&mut tx, Ship { order: 1 })
        .unique_key("k")
        .await
        .unwrap();
    queue
        .enqueue(Ship { order: 2 })
        .unique_key("other")
        .await
        .unwrap();
    queue
        .enqueue(Ship { order: 3 })
        .ordering_key("o")
        .await
        .unwrap();
    for job in take(&driver, 9).await {
        ack(&driver, &job).await;
    }
    let other = queue.clone();
    let waits = tokio::spawn(async move {
        other
            .enqueue(Ship { order: 4 })
            .unique_key("k")
            .await
            .unwrap()
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waits.is_finished());
    tx.commit().await.unwrap();
    assert_eq!(waits.await.unwrap(), Enqueued::Duplicate(first.id()));
    pool.close().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn transactions_with_keys_meet_no_deadlock() {
    let database = Database::new().await;
    let pool = shop(&database).await;
    let driver = database.driver().await;
    let queue = Queue::new(driver.clone());
    let mut tasks = JoinSet::new();
    for task in 0..8_u64 {
        let (pool, queue) = (pool.clone(), queue.clone());
        tasks.spawn(async move {
            for n in 0..40 {
                let order = task * 1000 + n;
                let mut tx = pool.begin().await.unwrap();
                sqlx::query("INSERT INTO orders VALUES (?)")
                    .bind(order)
                    .execute(&mut *tx)
                    .await
                    .unwrap();
                // Own unique keys, shared ordering keys.
                queue
                    .enqueue_in(&mut tx, Ship { order })
                    .unique_key(format!("order-{order}"))
                    .ordering_key(format!("customer-{}", n % 5))
                    .await
                    .unwrap();
                if n % 4 == 0 {
                    tx.rollback().await.unwrap();
                } else {
                    tx.commit().await.unwrap();
                }
            }
        });
    }
    for _ in 0..3 {
        let driver = driver.clone();
        tasks.spawn(async move {
            for _ in 0..150 {
                for job in take(&driver, 5).await {
                    ack(&driver, &job).await;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    loop {
        let jobs = take(&driver, 100).await;
        if jobs.is_empty() {
            break;
        }
        for job in &jobs {
            ack(&driver, job).await;
        }
    }
    assert_eq!(database.number("SELECT COUNT(*) FROM orders").await, 8 * 30);
    database.is_empty().await;
    pool.close().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_key_in_many_transactions_has_one_holder() {
    let database = Database::new().await;
    let pool = shop(&database).await;
    let driver = database.driver().await;
    let queue = Queue::new(driver.clone());
    let (mut deadlocks, mut stored_in_all) = (0, 0);
    for round in 0..15 {
        let mut tasks = JoinSet::new();
        for order in 0..6_u64 {
            let (pool, queue) = (pool.clone(), queue.clone());
            tasks.spawn(async move {
                let mut tx = pool.begin().await.unwrap();
                let job = queue.enqueue_in(&mut tx, Ship { order });
                let outcome = job.unique_key(format!("round-{round}")).await;
                match outcome {
                    // The first one to have it gives it back.
                    Ok(Enqueued::Stored(_)) if order % 2 == 0 => {
                        tx.rollback().await.unwrap();
                        Ok(false)
                    }
                    Ok(outcome) => {
                        tx.commit().await.unwrap();
                        Ok(!outcome.is_duplicate())
                    }
                    Err(error) => Err(error),
                }
            });
        }
        let mut stored = 0;
        while let Some(outcome) = tasks.join_next().await {
            match outcome.unwrap() {
                Ok(is_stored) => stored += usize::from(is_stored),
                Err(error) => {
                    assert!(error.is_transient(), "{error}");
                    deadlocks += 1;
                }
            }
        }
        assert!(stored <= 1, "{stored} jobs have one key");
        stored_in_all += stored;
    }
    assert!(stored_in_all > 0);
    assert_eq!(deadlocks, 0, "of 90 transactions");
    assert_eq!(take(&driver, 99).await.len(), stored_in_all);
    pool.close().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_enqueued_is_refused_and_the_transaction_goes_on() {
    let database = Database::new().await;
    let pool = shop(&database).await;
    let driver = database.driver().await;
    let queue = Queue::new(driver.clone());
    let mut tx = pool.begin().await.unwrap();
    let refused = queue
        .enqueue_in(&mut tx, Ship { order: 1 })
        .queue("no queue")
        .await;
    assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    let delay = Duration::from_millis(1500);
    queue
        .enqueue_in(&mut tx, Ship { order: 2 })
        .delay(delay)
        .header("a", "b")
        .await
        .unwrap();
    tx.commit().await.unwrap();
    assert_eq!(counts(&driver).await, (0, 1, 0, 0));
    assert_eq!(
        driver
            .reserve(waiting("q", 1, Duration::from_secs(5)))
            .await
            .unwrap()
            .len(),
        1
    );
    pool.close().await;
    database.drop().await;
}
