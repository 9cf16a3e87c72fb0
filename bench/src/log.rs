//! The partitioned log on MySQL, beside bare statements on the same server.

use std::time::Duration;

use futures_util::{StreamExt, stream::FuturesUnordered};
use goqueue::{
    log::{GroupName, Log, NewMessage, Subscription, SubscriptionConfig, TopicName},
    mysql::{
        log::MysqlLog,
        sqlx::{self, AssertSqlSafe, ConnectOptions, MySqlConnection, mysql::MySqlConnectOptions},
    },
    prelude::*,
};
use tokio::time::{Instant, sleep};

use crate::{
    backend::is_in,
    report::{self, Runs},
};

/// How many acks a consumer has under way.
const UNDER_WAY: usize = 4_000;
/// Messages whose time from the publishing to the delivery is measured.
const TIMED: usize = 200;

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Outcome<T = ()> = Result<T, Failure>;

/// A part of the log's benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// One and a hundred messages per call, beside bare inserts
    Publish,
    /// Grouped acks, by partitions and subscribers, beside bare statements
    Consume,
    /// Finding partitions
    Discovery,
    /// From the publishing to the delivery
    Latency,
}

/// Runs these parts, or all if none is named, on the server that `url` names, each round in a
/// database of its own.
pub(crate) async fn run(url: &str, messages: usize, rounds: usize, only: &[Part]) -> Outcome {
    println!("log on MySQL, messages of 100 bytes, {messages} messages, median of {rounds}\n");
    if is_in(Part::Publish, only) {
        publishing(url, messages, rounds).await?;
    }
    if is_in(Part::Consume, only) {
        consuming(url, messages, rounds).await?;
    }
    if is_in(Part::Discovery, only) {
        discovery(url, rounds).await?;
    }
    if is_in(Part::Latency, only) {
        latency(url).await?;
    }
    Ok(())
}

/// A log in a database of its own, which goes with it.
struct Place {
    url: String,
    name: String,
    log: Log,
    bare: MySqlConnection,
}

impl Place {
    async fn new(server: &str) -> Outcome<Self> {
        let base = server.rsplit_once('/').map_or(server, |(base, _)| base);
        let options: MySqlConnectOptions = format!("{base}/mysql").parse()?;
        let mut bare = options.disable_statement_logging().connect().await?;
        let name = format!("goqueue_bench_{}", JobId::new().as_uuid().simple());
        execute(&mut bare, &format!("CREATE DATABASE {name}")).await?;
        execute(&mut bare, &format!("USE {name}")).await?;
        let url = format!("{base}/{name}");
        let log = connect(&url).await?;
        Ok(Self {
            url,
            name,
            log,
            bare,
        })
    }

    async fn drop(mut self) -> Outcome {
        self.log.close().await?;
        execute(&mut self.bare, &format!("DROP DATABASE {}", self.name)).await
    }
}

async fn connect(url: &str) -> Outcome<Log> {
    let config = Config::default().with_driver(url);
    Ok(Log::new(MysqlLog::connect(&config).await?))
}

async fn execute(connection: &mut MySqlConnection, text: &str) -> Outcome {
    sqlx::raw_sql(AssertSqlSafe(text.to_owned()))
        .execute(connection)
        .await?;
    Ok(())
}

fn message(n: usize, partitions: usize) -> NewMessage {
    NewMessage::new(
        format!("message-{n:010}"),
        vec![b'x'; 100],
        format!("partition-{}", n % partitions),
    )
}

async fn publishing(url: &str, messages: usize, rounds: usize) -> Outcome {
    for batch in [1, 100] {
        let count = if batch == 1 { messages / 20 } else { messages };
        let (mut bare, mut own) = (Runs::default(), Runs::default());
        for _ in 0..rounds {
            let mut place = Place::new(url).await?;
            bare.add_rate(count, bare_inserts(&mut place, count, batch).await?);
            place.drop().await?;
            let place = Place::new(url).await?;
            own.add_rate(count, publish(&place.log, count, batch, 8).await?);
            place.drop().await?;
        }
        report::rate(&format!("bare INSERT, {batch} per statement"), &bare, None);
        let bar = (batch == 100).then_some(bare.median() / 2.0);
        report::rate(
            &format!("publish, {batch} per call, 8 partitions"),
            &own,
            bar,
        );
        println!(
            "{:<44} {:>11.2}",
            "  of the bare INSERT",
            own.median() / bare.median()
        );
    }
    Ok(())
}

/// The same rows in the same table, bound to a prepared statement.
async fn bare_inserts(place: &mut Place, messages: usize, batch: usize) -> Outcome<Duration> {
    let row = "(?, ?, ?, ?, ?, 0, NULL, ?)";
    let text = format!(
        "INSERT INTO goqueue_queue_messages (topic, partition_key, `offset`, id, published_at, \
         visible_after, metadata, payload) VALUES {}",
        vec![row; batch].join(", ")
    );
    let since = Instant::now();
    for first in (0..messages).step_by(batch) {
        let mut query = sqlx::query(AssertSqlSafe(text.clone()));
        for n in first..first + batch {
            query = query
                .bind("bare")
                .bind(format!("partition-{}", n % 8).into_bytes())
                .bind((n / 8 + 1) as u64)
                .bind(format!("message-{n:010}").into_bytes())
                .bind(1_700_000_000_000_u64)
                .bind(vec![b'x'; 100]);
        }
        query.execute(&mut place.bare).await?;
    }
    Ok(since.elapsed())
}

async fn publish(log: &Log, messages: usize, batch: usize, partitions: usize) -> Outcome<Duration> {
    let since = Instant::now();
    for first in (0..messages).step_by(batch) {
        let batch = (first..first + batch).map(|n| message(n, partitions));
        log.publish("bench", batch).await?;
    }
    Ok(since.elapsed())
}

async fn consuming(url: &str, messages: usize, rounds: usize) -> Outcome {
    for (partitions, subscribers) in [(1, 1), (8, 1), (8, 4), (64, 1), (64, 4)] {
        let (mut bare, mut own) = (Runs::default(), Runs::default());
        for _ in 0..rounds {
            let mut place = Place::new(url).await?;
            publish(&place.log, messages, 100, partitions).await?;
            bare.add_rate(
                messages,
                bare_reads(&mut place, messages, partitions).await?,
            );
            own.add_rate(messages, consume(&place, messages, subscribers).await?);
            place.drop().await?;
        }
        let bar = (partitions == 8 && subscribers == 1).then_some(20_000.0);
        report::rate(
            &format!("consume, {partitions} partitions, {subscribers} subscribers"),
            &own,
            bar,
        );
        println!(
            "{:<44} {:>11.2}",
            "  of bare SELECT and DELETE by 100",
            own.median() / bare.median()
        );
    }
    Ok(())
}

/// What any reader has to do at least: read a hundred messages, write down that they are under way,
/// and remove that again, each in a transaction.
async fn bare_reads(place: &mut Place, messages: usize, partitions: usize) -> Outcome<Duration> {
    let since = Instant::now();
    for first in (0..messages.div_ceil(partitions)).step_by(100) {
        for partition in 0..partitions {
            let which = format!(
                "topic = 'bench' AND partition_key = 'partition-{partition}' AND `offset` > {first} \
                 AND `offset` <= {}",
                first + 100
            );
            sqlx::raw_sql(AssertSqlSafe(format!(
                "SELECT * FROM goqueue_queue_messages WHERE {which}"
            )))
            .fetch_all(&mut place.bare)
            .await?;
            execute(
                &mut place.bare,
                &format!(
                    "INSERT INTO goqueue_queue_delivery_state SELECT topic, partition_key, 'bare', \
                     `offset`, 1, 1, 1, 1, NULL FROM goqueue_queue_messages WHERE {which}"
                ),
            )
            .await?;
            let delete = format!(
                "DELETE FROM goqueue_queue_delivery_state WHERE {which} AND consumer_group = 'bare'"
            );
            execute(&mut place.bare, &delete).await?;
        }
    }
    Ok(since.elapsed())
}

fn config(subscriber: usize) -> SubscriptionConfig {
    let mut config = SubscriptionConfig::new(format!("s{subscriber}"), "readers");
    config.batch_size = 500;
    config.partition_discovery_interval = Duration::from_millis(100);
    config
}

async fn consume(place: &Place, messages: usize, subscribers: usize) -> Outcome<Duration> {
    let mut ready = Vec::new();
    for n in 0..subscribers {
        let log = connect(&place.url).await?;
        ready.push((log.subscribe("bench", config(n)).await?, log));
    }
    let since = Instant::now();
    let left = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(messages));
    let mut readers = Vec::new();
    for (subscription, log) in ready {
        readers.push(tokio::spawn(read(subscription, log, left.clone())));
    }
    let mut last = since;
    for reader in readers {
        last = last.max(reader.await??);
    }
    Ok(last - since)
}

/// Acks until there is nothing left, and says when its last ack was written down.
async fn read(
    mut subscription: Subscription,
    log: Log,
    left: std::sync::Arc<std::sync::atomic::AtomicUsize>,
) -> Outcome<Instant> {
    use std::sync::atomic::Ordering::Relaxed;
    let mut acks = FuturesUnordered::new();
    let mut last = Instant::now();
    while left.load(Relaxed) > 0 {
        tokio::select! {
            Some(acked) = acks.next() => {
                let acked: goqueue::Result<()> = acked;
                acked?;
                last = Instant::now();
                left.fetch_sub(1, Relaxed);
            }
            delivery = subscription.next(), if acks.len() < UNDER_WAY => {
                let Some(delivery) = delivery else { break };
                acks.push(delivery.ack());
            }
            () = sleep(Duration::from_millis(10)) => {}
        }
    }
    drop(acks);
    subscription.close().await;
    log.close().await?;
    Ok(last)
}

/// Finding ten thousand partitions in which there are a hundred messages each.
async fn discovery(url: &str, rounds: usize) -> Outcome {
    let place = Place::new(url).await?;
    for _ in 0..100 {
        for first in (0..10_000).step_by(1_000) {
            let messages = (first..first + 1_000).map(|n| {
                NewMessage::new(JobId::new().to_string(), vec![b'x'; 100], format!("p-{n}"))
            });
            place.log.publish("bench", messages).await?;
        }
    }
    let (topic, group) = (TopicName::new("bench")?, GroupName::new("readers")?);
    let offsets = place.log.backend().offsets();
    let mut times = Vec::new();
    for _ in 0..rounds * 10 {
        let since = Instant::now();
        let found = offsets.partitions(&topic, &group).await?;
        times.push(since.elapsed());
        assert_eq!(found.len(), 10_000, "every partition is found");
    }
    times.sort_unstable();
    let median = times[times.len() / 2].as_secs_f64() * 1_000.0;
    report::figure(
        "discovery, 10,000 partitions, 1,000,000 msgs",
        median,
        "ms",
        50.0,
    );
    place.drop().await
}

/// From the publishing to the delivery on an idle log, one message at a time.
async fn latency(url: &str) -> Outcome {
    let place = Place::new(url).await?;
    let config = config(0);
    let poll = config.poll_interval;
    let mut subscription = place.log.subscribe("bench", config).await?;
    // The partition is found and its lease taken first.
    place.log.publish("bench", [message(0, 1)]).await?;
    if let Some(delivery) = subscription.next().await {
        delivery.ack().await?;
    }
    let mut times = Vec::new();
    for n in 1..=TIMED {
        // Not in step with the polls.
        sleep(Duration::from_millis(17 * (n as u64 % 13) + 5)).await;
        let since = Instant::now();
        place.log.publish("bench", [message(n, 1)]).await?;
        if let Some(delivery) = subscription.next().await {
            times.push(since.elapsed());
            delivery.ack().await?;
        }
    }
    times.sort_unstable();
    let millis = |time: Duration| time.as_secs_f64() * 1_000.0;
    report::figure(
        "publish to delivery, p50",
        millis(times[times.len() / 2]),
        "ms",
        millis(poll),
    );
    println!(
        "{:<44} {:>11.3} ms",
        "publish to delivery, p99",
        millis(times[times.len() * 99 / 100])
    );
    subscription.close().await;
    place.drop().await
}
