//! What the log asks of the server: how often, in which order it commits, and beside the naive
//! designs, which are run here too and seen to fail.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{sync::Arc, time::Duration};

use goqueue_core::{
    Config,
    log::{
        Log, LogBackend, NewMessage, PartitionKey, Published, StartFrom, SubscriberName, TopicName,
        store::{
            Delivered, Fetch, FetchRequest, GroupPartition, LeaseRequest, Receipt, Settled,
            Settlement, SubscriberId, Verdict,
        },
    },
};
use goqueue_mysql::{
    MysqlDriver,
    log::{MysqlLog, PublishIn},
    sqlx::{self, AssertSqlSafe, Row},
};
use support::*;
use tokio::time::{Instant, timeout};

const LEASE: Duration = Duration::from_secs(60);

fn topic() -> TopicName {
    TopicName::new("orders").unwrap()
}

fn message(n: u32, partition: &str) -> NewMessage {
    NewMessage::new(n.to_string(), format!("payload {n}"), partition)
}

/// One subscriber of one group on one partition, by hand.
struct Reader {
    backend: Arc<dyn LogBackend>,
    at: GroupPartition,
    subscriber: SubscriberId,
    receipts: std::sync::atomic::AtomicU64,
}

impl Reader {
    async fn new(log: &Log, partition: &str) -> Self {
        let reader = Self {
            backend: Arc::clone(log.backend()),
            at: GroupPartition {
                topic: topic(),
                group: group("g"),
                partition: PartitionKey::new(partition).unwrap(),
            },
            subscriber: SubscriberId {
                name: SubscriberName::new("s").unwrap(),
                instance: 7,
            },
            receipts: 1.into(),
        };
        let (offsets, at) = (reader.backend.offsets(), &reader.at);
        offsets
            .register(&at.topic, &at.group, StartFrom::Beginning)
            .await
            .unwrap();
        let request = LeaseRequest {
            topic: topic(),
            group: group("g"),
            subscriber: reader.subscriber.clone(),
            partitions: vec![reader.at.partition.clone()],
            duration: LEASE,
        };
        let leases = reader.backend.leases();
        assert_eq!(leases.acquire(&request).await.unwrap().len(), 1);
        reader
    }

    async fn fetch(&self, max: usize) -> (Vec<Delivered>, Receipt) {
        let next = &self.receipts;
        let receipt = Receipt(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let request = FetchRequest {
            at: self.at.clone(),
            subscriber: self.subscriber.clone(),
            max,
            visibility: LEASE,
            is_serial: false,
            receipt,
        };
        match self.backend.transactions().fetch(&request).await.unwrap() {
            Fetch::Taken(taken) => (taken, receipt),
            Fetch::LeaseLost => panic!("the lease holds"),
        }
    }

    async fn ack(&self, taken: &[Delivered], receipt: Receipt) {
        let settlements: Vec<_> = taken
            .iter()
            .map(|delivered| Settlement {
                partition: self.at.partition.clone(),
                offset: delivered.message.offset,
                receipt,
                verdict: Verdict::Ack,
            })
            .collect();
        let transactions = self.backend.transactions();
        let settle = transactions.settle(&self.at.topic, &self.at.group, &settlements);
        let settled = settle.await.unwrap();
        assert!(settled.iter().all(|settled| *settled == Settled::Done));
    }
}

async fn log(database: &Database) -> Log {
    Log::new(MysqlLog::connect(&database.config()).await.unwrap())
}

fn offsets(taken: &[Delivered]) -> Vec<u64> {
    taken
        .iter()
        .map(|delivered| delivered.message.offset)
        .collect()
}

/// A table whose offsets are given out before the commit, read as everyone reads such a table.
#[tokio::test(flavor = "multi_thread")]
async fn a_naive_auto_increment_loses_what_is_committed_late_and_the_log_does_not() {
    let database = Database::new().await;
    database
        .run("CREATE TABLE naive (n BIGINT AUTO_INCREMENT PRIMARY KEY, body INT) ENGINE=InnoDB")
        .await;
    let pool = database.pool().await;
    let mut slow = pool.begin().await.unwrap();
    sqlx::query("INSERT INTO naive (body) VALUES (1)")
        .execute(&mut *slow)
        .await
        .unwrap();
    database.run("INSERT INTO naive (body) VALUES (2)").await;
    // A reader sees the second alone, acks it, and goes on behind it.
    let watermark = database.number("SELECT MAX(n) FROM naive").await;
    slow.commit().await.unwrap();
    let behind = format!("SELECT COUNT(*) FROM naive WHERE n > {watermark}");
    assert_eq!(
        database.number(&behind).await,
        0,
        "the naive design loses nothing: no mutant"
    );
    assert_eq!(database.number("SELECT COUNT(*) FROM naive").await, 2);

    let log = log(&database).await;
    let reader = Reader::new(&log, "p").await;
    let mut slow = pool.begin().await.unwrap();
    let published = log.publish_in(&mut slow, "orders", [message(1, "p")]).await;
    assert_eq!(published.unwrap(), [Published::Stored { offset: 1 }]);
    let fast = log.publish("orders", [message(2, "p")]);
    tokio::pin!(fast);
    // Seconds go by: whoever publishes to the partition waits, and nobody reads past the hole.
    assert!(timeout(Duration::from_secs(2), &mut fast).await.is_err());
    assert!(reader.fetch(10).await.0.is_empty());
    // Other partitions do not wait.
    let other = log.publish("orders", [message(3, "q")]).await.unwrap();
    assert_eq!(other, [Published::Stored { offset: 1 }]);
    slow.commit().await.unwrap();
    assert_eq!(fast.await.unwrap(), [Published::Stored { offset: 2 }]);
    let (taken, receipt) = reader.fetch(10).await;
    assert_eq!(offsets(&taken), [1, 2]);
    reader.ack(&taken, receipt).await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_publishes_with_its_own_rows_or_not_at_all() {
    let database = Database::new().await;
    database
        .run("CREATE TABLE bills (id INT PRIMARY KEY) ENGINE=InnoDB")
        .await;
    let (log, pool) = (log(&database).await, database.pool().await);
    let reader = Reader::new(&log, "p").await;
    let mut tx = pool.begin().await.unwrap();
    sqlx::query("INSERT INTO bills VALUES (1)")
        .execute(&mut *tx)
        .await
        .unwrap();
    let many = (0..2_500).map(|n| message(n, "p"));
    let published = log.publish_in(&mut tx, "orders", many).await.unwrap();
    assert_eq!(published[2_499], Published::Stored { offset: 2_500 });
    tx.rollback().await.unwrap();
    assert!(reader.fetch(10).await.0.is_empty());

    // The isolation level of the caller does not matter, nor when its transaction began.
    let mut tx = pool.begin().await.unwrap();
    sqlx::query("SELECT COUNT(*) FROM bills")
        .execute(&mut *tx)
        .await
        .unwrap();
    log.publish("orders", [message(1, "p"), message(2, "p")])
        .await
        .unwrap();
    sqlx::query("INSERT INTO bills VALUES (2)")
        .execute(&mut *tx)
        .await
        .unwrap();
    let again = [message(2, "p"), message(3, "p"), message(3, "p")];
    let published = log.publish_in(&mut tx, "orders", again).await.unwrap();
    assert_eq!(
        published,
        [
            Published::Duplicate { offset: 2 },
            Published::Stored { offset: 3 },
            Published::Duplicate { offset: 3 }
        ]
    );
    tx.commit().await.unwrap();
    assert_eq!(offsets(&reader.fetch(10).await.0), [1, 2, 3]);
    assert_eq!(database.number("SELECT COUNT(*) FROM bills").await, 1);

    // A log that is not of this driver cannot.
    let mut tx = pool.begin().await.unwrap();
    let driver = MysqlDriver::connect(&database.config()).await.unwrap();
    let beside = Log::new(MysqlLog::beside(&driver));
    let published = beside
        .publish_in(&mut tx, "orders", [message(9, "q")])
        .await;
    assert!(matches!(
        published.unwrap()[..],
        [Published::Stored { offset: 1 }]
    ));
    tx.commit().await.unwrap();
    beside.close().await.unwrap();
    assert!(beside.publish("orders", [message(10, "q")]).await.is_err());
    goqueue_core::driver::Driver::ping(&driver).await.unwrap();
    database.drop().await;
}

/// Statements that the server has run for everyone, apart from those that ask for this.
async fn questions(database: &Database) -> i64 {
    let rows = database
        .rows(
            "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_select', 'Com_insert', \
               'Com_insert_select', 'Com_update', 'Com_update_multi', 'Com_delete', \
               'Com_delete_multi', 'Com_begin', 'Com_commit')",
        )
        .await;
    rows.iter()
        .map(|row| {
            row.try_get_unchecked::<String, _>(1)
                .unwrap()
                .parse::<i64>()
                .unwrap()
        })
        .sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_takes_a_constant_number_of_statements() {
    // A server of its own, since the counters are the server's.
    let server = Server::start().await;
    let database = Database::on(&server.url()).await;
    let log = log(&database).await;
    log.publish("orders", (0..1_212).map(|n| message(n, "p")))
        .await
        .unwrap();
    let reader = Reader::new(&log, "p").await;
    let (first, receipt) = reader.fetch(1).await;
    reader.ack(&first, receipt).await;
    let mut counts = Vec::new();
    for size in [1, 10, 200, 1_000] {
        let before = questions(&database).await;
        let (taken, receipt) = reader.fetch(size).await;
        assert_eq!(taken.len(), size);
        reader.ack(&taken, receipt).await;
        let after = questions(&database).await;
        counts.push(after - before);
    }
    println!("statements to deliver and ack 1, 10, 200 and 1,000 messages: {counts:?}");
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    // An idle look is one round trip of plain reads.
    let before = questions(&database).await;
    assert_eq!(reader.fetch(10).await.0.len(), 0);
    let idle = questions(&database).await - before;
    println!("statements of an idle look: {idle}");
    assert!(idle <= 4, "{idle}");
    let before = questions(&database).await;
    let more = (0..500).map(|n| message(5_000 + n, &format!("p{}", n % 50)));
    log.publish("orders", more).await.unwrap();
    let published = questions(&database).await - before;
    println!("statements to publish 500 messages to 50 partitions: {published}");
    assert!(published <= 13, "{published}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_time_zone_changes_when_a_message_is_visible() {
    let database = Database::new().await;
    let options = database.options();
    for zone in ["+13:00", "-11:00"] {
        let pool = sqlx::mysql::MySqlPoolOptions::new()
            .after_connect(move |connection, _| {
                Box::pin(async move {
                    let text = format!("SET time_zone = '{zone}'");
                    sqlx::raw_sql(AssertSqlSafe(text))
                        .execute(connection)
                        .await?;
                    Ok(())
                })
            })
            .connect_with(options.clone())
            .await
            .unwrap();
        let log = Log::new(MysqlLog::with_pool(pool, &Config::default()).await.unwrap());
        let reader = Reader::new(&log, zone).await;
        let delay = Duration::from_millis(1_500);
        let since = Instant::now();
        log.publish_after("orders", [message(1, zone)], delay)
            .await
            .unwrap();
        log.publish("orders", [message(2, zone)]).await.unwrap();
        let (taken, receipt) = reader.fetch(10).await;
        assert_eq!(
            offsets(&taken),
            [2],
            "what is visible is read past what is not"
        );
        reader.ack(&taken, receipt).await;
        let patience = since + Duration::from_secs(30);
        loop {
            let (taken, receipt) = reader.fetch(10).await;
            if !taken.is_empty() {
                assert!(since.elapsed() >= delay, "{:?}", since.elapsed());
                assert_eq!((offsets(&taken), taken[0].attempt), (vec![1], 1));
                reader.ack(&taken, receipt).await;
                break;
            }
            assert!(Instant::now() < patience, "it never comes");
        }
        log.close().await.unwrap();
    }
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_outlives_its_server() {
    let mut server = Server::start().await;
    let database = Database::on(&server.url()).await;
    let log = log(&database).await;
    log.publish("orders", (0..3).map(|n| message(n, "p")))
        .await
        .unwrap();
    let reader = Reader::new(&log, "p").await;
    let (taken, receipt) = reader.fetch(2).await;
    server.kill();
    let error = log.publish("orders", [message(3, "p")]).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    server.resume().await;
    // The delivery is as good as before, and so is the rest.
    reader.ack(&taken, receipt).await;
    let (taken, _) = reader.fetch(10).await;
    assert_eq!((offsets(&taken), taken[0].attempt), (vec![3], 1));
    assert_eq!(
        log.publish("orders", [message(3, "p")]).await.unwrap(),
        [Published::Stored { offset: 4 }]
    );
}
