//! A job that is pushed while a reservation of the same driver waits for it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use goqueue_core::{
    Config, Job, Queue, Result,
    driver::{Driver, LeaseOutcome, Reserved, Verdict},
};
use goqueue_mysql::{EnqueueIn, MysqlDriver};
use serde::{Deserialize, Serialize};
use sqlx::Row;
use support::*;
use tokio::{task::JoinHandle, time::sleep};
use tokio_util::sync::CancellationToken;

#[derive(Serialize, Deserialize)]
struct First;

impl Job for First {
    const NAME: &'static str = "first";
    const QUEUE: &'static str = "q";
}

/// A driver on which a waiting reservation finds nothing by itself for a while.
async fn patient(url: &str) -> MysqlDriver {
    let config = format!("driver = \"{url}\"\n[mysql]\npoll_interval = \"10s\"");
    let config = Config::from_toml(&config).unwrap();
    let driver = MysqlDriver::connect(&config).await.unwrap();
    // The name of the queue is written down.
    push(&driver, vec![job("q", "before")]).await;
    let before = take(&driver, 1).await.remove(0);
    ack(&driver, &before).await;
    driver
}

/// A reservation that has looked and found nothing, a few times.
async fn waits(
    driver: &MysqlDriver,
    max: usize,
) -> (JoinHandle<Result<Vec<Reserved>>>, CancellationToken) {
    let (driver, request) = (driver.clone(), waiting("q", max, Duration::from_secs(20)));
    let cancel = request.cancel.clone();
    let waits = tokio::spawn(async move { driver.reserve(request).await });
    // The pauses between its looks double.
    sleep(Duration::from_secs(1)).await;
    (waits, cancel)
}

/// Statements of these kinds that the server has run.
async fn statements(database: &Database) -> Vec<(String, i64)> {
    let rows = database
        .rows(
            "SHOW GLOBAL STATUS WHERE Variable_name IN \
             ('Com_insert', 'Com_update', 'Com_delete', 'Com_commit')",
        )
        .await;
    let number = |row: &sqlx::mysql::MySqlRow, at| row.try_get_unchecked::<String, _>(at).unwrap();
    rows.iter()
        .map(|row| (number(row, 0), number(row, 1).parse().unwrap()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_stored_and_handed_over_by_one_statement() {
    // A server of its own, since the counters are the server's.
    let server = Server::start().await;
    let database = Database::on(&server.url()).await;
    let driver = patient(&database.url()).await;
    let (waits, _) = waits(&driver, 10).await;
    let before = statements(&database).await;
    push(&driver, vec![job("q", "job")]).await;
    let jobs = waits.await.unwrap().unwrap();
    let after = statements(&database).await;
    assert_eq!(bodies_of(&jobs), ["job"]);
    assert_eq!(jobs[0].attempt, 1);
    let grown: Vec<_> = before
        .iter()
        .zip(&after)
        .map(|((name, before), (_, after))| (name.as_str(), after - before))
        .filter(|(_, grown)| *grown > 0)
        .collect();
    assert_eq!(grown, [("Com_insert", 1)]);
    assert_eq!(counts(&driver).await, (0, 0, 1, 0));
    assert_eq!(
        end(&driver, &jobs[0], Verdict::Ack).await,
        LeaseOutcome::Done
    );
    assert_eq!(counts(&driver).await, (0, 0, 0, 0));
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_does_not_overtake_what_a_transaction_has_stored() {
    let database = Database::new().await;
    let driver = patient(&database.url()).await;
    let queue = Queue::new(driver.clone());
    let pool = database.pool().await;
    let (waits, _) = waits(&driver, 1).await;
    let mut tx = pool.begin().await.unwrap();
    let first = queue.enqueue_in(&mut tx, First).await.unwrap().id();
    tx.commit().await.unwrap();
    push(&driver, vec![job("q", "second")]).await;
    let jobs = waits.await.unwrap().unwrap();
    assert_eq!(jobs[0].lease.id, first);
    assert_eq!(bodies(&driver, 10).await, ["second"]);
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_free_at_once_when_the_reservation_has_ended_meanwhile() {
    let database = Database::new().await;
    let proxied = line_to(database.address()).await;
    let driver = patient(&database.url_through(proxied.port())).await;
    let (waits, cancel) = waits(&driver, 1).await;
    // The answer to the push is late: the reservation has ended when it comes.
    let late = Duration::from_millis(300);
    proxied.slow_down(late);
    let pushes = tokio::spawn({
        let driver = driver.clone();
        async move { push(&driver, vec![job("q", "job")]).await }
    });
    sleep(late / 3).await;
    cancel.cancel();
    assert!(waits.await.unwrap().unwrap().is_empty());
    pushes.await.unwrap();
    proxied.slow_down(Duration::ZERO);
    let job = take(&driver, 1).await.remove(0);
    assert_eq!(
        (
            bodies_of(std::slice::from_ref(&job))[0].as_str(),
            job.attempt
        ),
        ("job", 1)
    );
    database.drop().await;
}
