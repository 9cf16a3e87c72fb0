//! Rows that goqueue did not write, that somebody removed, and that have had their time.

mod support;

use std::time::Duration;

use goqueue_core::{
    Handler, Job, JobContext, JobResult, Queue, Worker,
    driver::{Driver, PageRequest, Selection},
};
use goqueue_mysql::MysqlDriver;
use serde::{Deserialize, Serialize};
use support::*;
use tokio::time::sleep;

#[derive(Serialize, Deserialize)]
struct Good {
    n: u32,
}

impl Job for Good {
    const NAME: &'static str = "good";
    const QUEUE: &'static str = "q";
}

impl Handler for Good {
    async fn handle(self, _cx: JobContext) -> JobResult {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_rows_block_nothing_and_die_with_their_bytes() {
    let database = Database::new().await;
    let driver = database.driver().await;
    let queue_handle = Queue::new(driver.clone());
    let foreign = "INSERT INTO goqueue_jobs (queue, id, visible_after, body, ordering_key) VALUES ";
    // No envelope, nothing at all, an unknown id, keys of which no other table knows.
    database
        .run(&format!(
            "{foreign} ('q', REPEAT('a', 16), 0, x'ff00fe', NULL)"
        ))
        .await;
    database
        .run(&format!("{foreign} ('q', REPEAT('b', 16), -5, '', NULL)"))
        .await;
    database
        .run(&format!("{foreign} ('q', '', 1, '[1]', 'lane')"))
        .await;
    database
        .run(&format!("{foreign} ('q', 'short', 1, '{{}}', 'lane')"))
        .await;
    database
        .run("INSERT INTO goqueue_lanes VALUES ('q', 'gone', 999999)")
        .await;
    database
        .run("INSERT INTO goqueue_queues VALUES ('no queue!')")
        .await;
    for n in 0..5 {
        queue_handle
            .enqueue(Good { n })
            .ordering_key("gone")
            .await
            .unwrap();
    }
    // The lane whose job is gone is mended by upkeep.
    driver.maintain(&[queue("q")]).await.unwrap();
    let mut reservations = 0;
    for _ in 0..2 {
        let worker = Worker::builder(&queue_handle)
            .only_registered()
            .register::<Good>();
        let report = worker.build().unwrap().drain().await.unwrap();
        reservations += report.finished;
        // So is a job that waits for its turn in a lane that is not there.
        driver.maintain(&[queue("q")]).await.unwrap();
    }
    assert!(reservations < 20, "{reservations}");
    assert_eq!(counts(&driver).await, (0, 0, 0, 4));
    let inspect = driver.inspect().unwrap();
    let letters = inspect
        .dead_letters(&queue("q"), PageRequest::first(9))
        .await
        .unwrap()
        .items;
    let mut bodies: Vec<_> = letters.iter().map(|letter| &letter.body[..]).collect();
    bodies.sort_unstable();
    assert_eq!(bodies, [&b""[..], b"[1]", b"{}", b"\xff\x00\xfe"]);
    assert!(letters.iter().all(|letter| !letter.error.is_empty()));
    assert_eq!(inspect.queues().await.unwrap(), [queue("q")]);
    inspect
        .delete_dead(&queue("q"), Selection::All)
        .await
        .unwrap();
    database.is_empty().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_deleted_by_hand_leave_no_key_stuck() {
    let database = Database::new().await;
    let driver = database.driver().await;
    push(
        &driver,
        ["1", "2", "3"].map(|body| ordered("k", body)).into(),
    )
    .await;
    assert_eq!(bodies(&driver, 9).await, ["1"]);
    database
        .run("DELETE FROM goqueue_jobs WHERE body IN ('1', '2')")
        .await;
    assert_eq!(bodies(&driver, 9).await, [""; 0]);
    for _ in 0..2 {
        driver.maintain(&[queue("q")]).await.unwrap();
    }
    let jobs = take(&driver, 9).await;
    assert_eq!(bodies_of(&jobs), ["3"]);
    ack(&driver, &jobs[0]).await;
    database.is_empty().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retention_removes_old_letters_and_free_keys() {
    let database = Database::new().await;
    let config = database.config_with("[dead_letter]\nretention = \"300ms\"");
    let driver = MysqlDriver::connect(&config).await.unwrap();
    push(
        &driver,
        vec![
            job("q", "1"),
            unique("k", Duration::from_millis(200)),
            job("other", "2"),
        ],
    )
    .await;
    let jobs = take(&driver, 9).await;
    for job in &jobs {
        end(&driver, job, dead()).await;
    }
    let other = driver.reserve(request("other", 1)).await.unwrap();
    end(&driver, &other[0], dead()).await;
    assert_eq!(driver.maintain(&[queue("q")]).await.unwrap().purged, 0);
    sleep(Duration::from_millis(350)).await;
    let done = driver.maintain(&[queue("q")]).await.unwrap();
    assert_eq!(done.purged, 2);
    assert!(done.next > Duration::from_secs(5), "{done:?}");
    // Only the queues that it was asked for.
    assert_eq!(
        database
            .number("SELECT COUNT(*) FROM goqueue_dead_letters")
            .await,
        1
    );
    assert_eq!(
        database
            .number("SELECT COUNT(*) FROM goqueue_unique_keys")
            .await,
        0
    );
    database.drop().await;
}
