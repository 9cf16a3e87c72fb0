//! Enqueueing in a transaction needs the driver itself.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;

use goqueue_conformance::{SpecDriver, Spy};
use goqueue_core::{Error, Job, Queue, driver::Driver};
use goqueue_mysql::{EnqueueIn, MysqlDriver};
use serde::{Deserialize, Serialize};
use support::*;

#[derive(Serialize, Deserialize)]
struct Ship;

impl Job for Ship {
    const NAME: &'static str = "order.ship";
    const QUEUE: &'static str = "q";
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_around_it_or_another_one_is_refused_by_name() {
    let database = Database::new().await;
    let driver: Arc<dyn Driver> = Arc::new(database.driver().await);
    assert!(driver.downcast_ref::<MysqlDriver>().is_some());
    let spy: Arc<dyn Driver> = Spy::on(Arc::clone(&driver));
    assert!(spy.downcast_ref::<MysqlDriver>().is_none());

    let pool = database.pool().await;
    let mut tx = pool.begin().await.unwrap();
    // The spy would not see the job.
    let refused = Queue::from_shared(spy).enqueue_in(&mut tx, Ship).await;
    let text = refused.unwrap_err().to_string();
    let expected = "driver `mysql` does not support enqueue_in through what is wrapped around it";
    assert!(text.starts_with(expected), "{text}");

    let elsewhere = Queue::from_shared(Arc::new(SpecDriver::new()));
    let refused = elsewhere.enqueue_in(&mut tx, Ship).await;
    let Err(Error::Unsupported { driver, capability }) = refused else {
        panic!("{refused:?}")
    };
    assert!(driver != "mysql" && capability == "enqueue_in", "{driver}");

    // Neither has touched the transaction.
    let queue = Queue::from_shared(driver_of(&database).await);
    queue.enqueue_in(&mut tx, Ship).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(counts(&database.driver().await).await, (1, 0, 0, 0));
    pool.close().await;
    database.drop().await;
}

async fn driver_of(database: &Database) -> Arc<dyn Driver> {
    Arc::new(database.driver().await)
}
