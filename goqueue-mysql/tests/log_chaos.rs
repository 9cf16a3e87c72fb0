//! Subscriber processes are killed, and the server too: nothing is lost, a partition keeps its order
//! and nothing is left behind.
//!
//! `GOQUEUE_TEST_LOG_MESSAGES` is how many messages there are: 100000 for the long form.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{
    collections::HashMap,
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use goqueue_core::{
    Config,
    log::{Log, NewMessage, SubscriptionConfig, TopicName},
};
use goqueue_mysql::log::MysqlLog;
use support::*;
use tokio::time::{Instant, sleep};

const PARTITIONS: u32 = 64;
const SUBSCRIBERS: usize = 4;
const MESSAGES: u32 = 20_000;
const TOPIC: &str = "events";
const GROUP: &str = "g";
/// Where a subscriber process finds its database and writes down what it was delivered.
const URL: &str = "GOQUEUE_TEST_LOG_CHAOS_URL";
const LEDGER: &str = "GOQUEUE_TEST_LOG_CHAOS_LEDGER";

async fn connect(url: &str) -> Log {
    let config = Config::default().with_driver(url);
    loop {
        match MysqlLog::connect(&config).await {
            Ok(log) => return Log::new(log),
            Err(error) if error.is_transient() => sleep(Duration::from_millis(100)).await,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Says how things stand, while a server may be away.
async fn lag(log: &Log) -> Option<u64> {
    let (topic, group) = (TopicName::new(TOPIC).ok()?, support::group(GROUP));
    let found = log.backend().offsets().partitions(&topic, &group).await;
    Some(found.ok()?.iter().map(|partition| partition.lag()).sum())
}

/// Reads, writes down and acks until it is killed, or until its parent is gone.
async fn consume(url: &str, ledger: &Path) {
    let log = connect(url).await;
    let mut config = SubscriptionConfig::new("s", GROUP);
    config.batch_size = 50;
    // Longer than the server is away: one that lives loses no lease, and so overtakes nobody.
    config.lease_duration = Duration::from_secs(10);
    config.lease_renewal_interval = Duration::from_secs(1);
    config.partition_discovery_interval = Duration::from_millis(200);
    config.visibility_timeout = Duration::from_secs(5);
    // A message is delivered as often as processes die while they have it.
    config.retry.max_attempts = 1_000;
    let mut deliveries = loop {
        match log.subscribe(TOPIC, config.clone()).await {
            Ok(deliveries) => break deliveries,
            Err(error) if error.is_transient() => sleep(Duration::from_millis(100)).await,
            Err(error) => panic!("{error}"),
        }
    };
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(ledger)
        .unwrap();
    let parent = tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin()));
    tokio::pin!(parent);
    let mut acks = FuturesUnordered::new();
    loop {
        tokio::select! {
            _ = &mut parent => break,
            Some(_) = acks.next() => {}
            delivery = deliveries.next(), if acks.len() < 500 => {
                let Some(delivery) = delivery else { break };
                let message = delivery.message();
                let partition: u32 = message.partition.as_str().parse().unwrap();
                let number = u32::from_le_bytes(message.payload[..].try_into().unwrap());
                // What is written outlives the process: only the machine itself could lose it.
                let mut line = [0; 12];
                line[..4].copy_from_slice(&partition.to_le_bytes());
                line[4..8].copy_from_slice(&number.to_le_bytes());
                line[8..].copy_from_slice(&delivery.attempt().to_le_bytes());
                file.write_all(&line).unwrap();
                // An ack that fails means that the message comes again.
                acks.push(delivery.ack());
            }
        }
    }
    while acks.next().await.is_some() {}
    deliveries.close().await;
    log.close().await.unwrap();
}

fn start(url: &str, ledger: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "a_subscriber_process_reads_a_message",
            "--nocapture",
        ])
        .env(URL, url)
        .env(LEDGER, ledger)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Partition, number and attempt of each delivery, in the order in which one process had them.
fn deliveries(ledger: &Path) -> Vec<[u32; 3]> {
    let bytes = std::fs::read(ledger).unwrap_or_default();
    // A line that was cut off by a kill belongs to a delivery that was never acked.
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    bytes
        .chunks_exact(12)
        .map(|line| [&line[..4], &line[4..8], &line[8..]].map(number))
        .collect()
}

fn ledger(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("gq-log-chaos-{}-{name}", std::process::id()))
}

/// Also what the other test starts as its subscribers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscriber_process_reads_a_message() {
    if let (Ok(url), Some(ledger)) = (std::env::var(URL), std::env::var_os(LEDGER)) {
        return consume(&url, Path::new(&ledger)).await;
    }
    let database = Database::new().await;
    let log = connect(&database.url()).await;
    publish(&log, 0..1).await;
    let ledger = ledger("one");
    let mut child = start(&database.url(), &ledger);
    let patience = Instant::now() + Duration::from_secs(30);
    while deliveries(&ledger).is_empty() || lag(&log).await != Some(0) {
        assert!(Instant::now() < patience, "the message is not read");
        sleep(Duration::from_millis(50)).await;
    }
    // Without its parent it ends by itself, and leaves nothing behind.
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(deliveries(&ledger), [[0, 0, 1]]);
    nothing_is_left(&database).await;
    std::fs::remove_file(ledger).unwrap();
    database.drop().await;
}

async fn publish(log: &Log, numbers: std::ops::Range<u32>) {
    let messages = numbers.map(|n| {
        let partition = (n % PARTITIONS).to_string();
        NewMessage::new(n.to_string(), n.to_le_bytes().to_vec(), partition)
    });
    let messages: Vec<_> = messages.collect();
    loop {
        // What was stored before a reply was lost is a duplicate, and not stored again.
        match log.publish(TOPIC, messages.clone()).await {
            Ok(_) => return,
            Err(error) => assert!(error.is_transient(), "{error}"),
        }
        sleep(Duration::from_millis(100)).await;
    }
}

async fn nothing_is_left(database: &Database) {
    for table in [
        "partition_leases",
        "subscriber_heartbeats",
        "delivery_state",
    ] {
        let rows = database
            .number(&format!("SELECT COUNT(*) FROM goqueue_queue_{table}"))
            .await;
        assert_eq!(rows, 0, "rows are left in {table}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_subscribers_and_server_are_killed() {
    let messages = std::env::var("GOQUEUE_TEST_LOG_MESSAGES").map_or(MESSAGES, |given| {
        let allowed = "allowed is a number of messages, such as 100000";
        given
            .parse()
            .unwrap_or_else(|_| panic!("GOQUEUE_TEST_LOG_MESSAGES is `{given}`, {allowed}"))
    });
    let mut server = Server::start().await;
    let database = Database::on(&server.url()).await;
    let url = database.url();
    let log = connect(&url).await;
    let (group, topic) = (support::group(GROUP), TopicName::new(TOPIC).unwrap());
    let offsets = log.backend().offsets();
    offsets
        .register(&topic, &group, Default::default())
        .await
        .unwrap();

    let mut ledgers = Vec::new();
    let mut start_one = || {
        let ledger = ledger(&ledgers.len().to_string());
        let child = start(&url, &ledger);
        ledgers.push(ledger);
        child
    };
    let mut subscribers: Vec<Child> = (0..SUBSCRIBERS).map(|_| start_one()).collect();
    let publisher = tokio::spawn({
        let log = log.clone();
        async move {
            for thousand in 0..messages.div_ceil(1_000) {
                publish(
                    &log,
                    thousand * 1_000..messages.min(thousand * 1_000 + 1_000),
                )
                .await;
            }
        }
    });
    let mut random = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap()
        .subsec_nanos();
    let mut next = |below: u32| {
        // Numerical Recipes' generator; its low bits are poor.
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) % below
    };
    let (since, mut kills, mut restarts) = (Instant::now(), 0, 0);
    loop {
        sleep(Duration::from_millis(u64::from(500 + next(1_500)))).await;
        let left = lag(&log).await;
        if restarts > 0 && kills >= SUBSCRIBERS && publisher.is_finished() && left == Some(0) {
            break;
        }
        assert!(
            since.elapsed() < Duration::from_secs(600),
            "not done: {left:?}"
        );
        if kills < 6 || next(3) == 0 {
            let victim = next(SUBSCRIBERS as u32) as usize;
            subscribers[victim].kill().unwrap();
            subscribers[victim].wait().unwrap();
            subscribers[victim] = start_one();
            kills += 1;
        }
        if restarts == 0 && kills >= 3 {
            server.kill();
            sleep(Duration::from_millis(500)).await;
            server.resume().await;
            restarts += 1;
        }
    }
    publisher.await.unwrap();
    // Those that were killed have left rows, which those that live clear away.
    let heartbeats = log.backend().heartbeats();
    let patience = Instant::now() + Duration::from_secs(60);
    while heartbeats.list(&topic, &group).await.unwrap().len() > SUBSCRIBERS {
        assert!(Instant::now() < patience, "heartbeats of the dead are left");
        sleep(Duration::from_millis(200)).await;
    }
    for subscriber in &mut subscribers {
        drop(subscriber.stdin.take());
    }
    for subscriber in &mut subscribers {
        assert!(subscriber.wait().unwrap().success());
    }
    nothing_is_left(&database).await;
    let runs = check(&ledgers, messages);
    println!(
        "{runs} deliveries of {messages} messages in {PARTITIONS} partitions in {:.0?}; {kills} \
         subscribers and {restarts} server killed",
        since.elapsed()
    );
    for ledger in ledgers {
        let _ = std::fs::remove_file(ledger);
    }
}

/// Every message was delivered, and first deliveries of a partition came in order.
fn check(ledgers: &[PathBuf], messages: u32) -> usize {
    let mut seen = vec![0_u32; messages as usize];
    let mut runs = 0;
    for ledger in ledgers {
        let mut last = HashMap::new();
        for [partition, number, attempt] in deliveries(ledger) {
            runs += 1;
            seen[number as usize] += 1;
            assert_eq!(number % PARTITIONS, partition);
            if attempt == 1 {
                let before = last.insert(partition, number);
                assert!(
                    before.is_none_or(|before| before < number),
                    "partition {partition}: {number} after {before:?}"
                );
            }
        }
    }
    let lost = seen.iter().filter(|times| **times == 0).count();
    assert_eq!(lost, 0, "messages are lost");
    runs
}
