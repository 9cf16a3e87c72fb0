//! A log with two consumer groups, three consumers each, and one of them killed on the way.
//!
//! ```text
//! cargo run -p goqueue-examples --example log_groups
//! cargo run -p goqueue-examples --features mysql --example log_groups -- \
//!     mysql://root@127.0.0.1:3306/shop
//! ```
//!
//! The second needs a MySQL or MariaDB with a database, in which it removes what the topic `orders` of
//! the log holds. `cargo xtask with mariadb` starts one that goes with the command behind it, and leaves
//! its URL in `GOQUEUE_TEST_MYSQL_URL`:
//!
//! ```text
//! cargo xtask with mariadb -- sh -c 'cargo run -p goqueue-examples --features mysql \
//!     --example log_groups -- "$GOQUEUE_TEST_MYSQL_URL"'
//! ```
//!
//! Both groups read the whole topic, each at its own pace. The messages of an order stay in order,
//! and what the killed consumer had in hand is delivered to another one. In memory the consumers are
//! threads, each with a runtime that can be killed; on a server they are processes.

use std::{
    process::{Child, Command, ExitCode},
    time::Duration,
};

use futures_util::StreamExt;
use goqueue::{
    Config, Result,
    log::{GroupName, Log, NewMessage, StartFrom, SubscriptionConfig, TopicName},
};
use tokio::{runtime::Runtime, time::sleep};

const TOPIC: &str = "orders";
const GROUPS: [(&str, Duration); 2] = [
    ("billing", Duration::from_millis(20)),
    ("mail", Duration::from_millis(8)),
];
const CONSUMERS: usize = 3;
const ORDERS: usize = 12;
const EVENTS: usize = 30;
/// Every consumer of this program reads this log.
const MEMORY: &str = "memory://log-groups";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let runtime = Runtime::new().expect("a runtime starts");
    let done = match arguments.as_slice() {
        [] => runtime.block_on(show(MEMORY)),
        [url] => runtime.block_on(show(url)),
        ["consume", url, group, name] => runtime.block_on(consume(url, group, name)),
        _ => {
            eprintln!("error: got {arguments:?}, allowed is nothing or the URL of a log");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Publishes, starts the consumers, kills one and watches the lag.
async fn show(url: &str) -> Result<()> {
    let log = connect(url).await?;
    let topic = TopicName::new(TOPIC)?;
    log.admin().purge_topic(&topic).await?;
    let events = (0..EVENTS).flat_map(|event| (0..ORDERS).map(move |order| (order, event)));
    let messages = events.map(|(order, event)| {
        let id = format!("{}-{order}-{event}", std::process::id());
        NewMessage::new(id, format!("event {event}"), format!("order-{order}"))
    });
    let published = log.publish(TOPIC, messages).await?.len();
    println!("published {published} events of {ORDERS} orders");

    let mut consumers = Vec::new();
    for (group, _) in GROUPS {
        for number in 1..=CONSUMERS {
            consumers.push(Consumer::start(url, group, format!("{group}-{number}")));
        }
    }
    // The groups are known from their first subscription on.
    while log.admin().lag(&topic, None).await?.is_empty() {
        sleep(Duration::from_millis(20)).await;
    }
    watch(&log, &topic, &mut consumers).await?;
    drop(consumers);
    println!("every group has acked everything");
    Ok(())
}

async fn watch(log: &Log, topic: &TopicName, consumers: &mut Vec<Consumer>) -> Result<()> {
    let total = (ORDERS * EVENTS) as u64;
    let mut is_killed = false;
    loop {
        let mut lags = Vec::new();
        for (group, _) in GROUPS {
            let rows = log
                .admin()
                .lag(topic, Some(&GroupName::new(group)?))
                .await?;
            // A group that has not subscribed yet has everything before it.
            let lag = rows.iter().map(|row| row.offsets.lag()).sum();
            lags.push(if rows.is_empty() { total } else { lag });
        }
        println!("lag: billing {:>3}, mail {:>3}", lags[0], lags[1]);
        if lags == [0, 0] {
            return Ok(());
        }
        if !is_killed && lags[0] < total * 3 / 4 {
            is_killed = true;
            let victim = consumers.remove(0);
            println!("{} is killed", victim.name);
            drop(victim);
        }
        sleep(Duration::from_millis(250)).await;
    }
}

/// Reads as one consumer of a group, until it is killed.
async fn consume(url: &str, group: &str, name: &str) -> Result<()> {
    let work = GROUPS.iter().find(|(known, _)| *known == group);
    let work = work.map(|(_, work)| *work).unwrap_or_default();
    let mut config = SubscriptionConfig::new(name, group);
    // Short times, so that the killed one is missed soon.
    config.lease_duration = Duration::from_secs(2);
    config.lease_renewal_interval = Duration::from_millis(500);
    config.partition_discovery_interval = Duration::from_millis(200);
    config.visibility_timeout = Duration::from_secs(3);
    config.start_from = StartFrom::Beginning;
    let mut deliveries = connect(url).await?.subscribe(TOPIC, config).await?;
    while let Some(delivery) = deliveries.next().await {
        if delivery.attempt() > 1 {
            let message = delivery.message();
            println!(
                "{name} gets {}, {} again",
                message.partition,
                text(&message.payload)
            );
        }
        sleep(work).await;
        if let Err(error) = delivery.ack().await {
            // Another one has been given it meanwhile.
            println!("{name}: {error}");
        }
    }
    Ok(())
}

async fn connect(url: &str) -> Result<Log> {
    Log::connect(&Config::default().with_driver(url)).await
}

fn text(payload: &[u8]) -> String {
    String::from_utf8_lossy(payload).into_owned()
}

/// A consumer. Dropped, it ends without a farewell, as in a crash.
struct Consumer {
    name: String,
    running: Option<Running>,
}

enum Running {
    Thread(Runtime),
    Process(Child),
}

impl Consumer {
    fn start(url: &str, group: &'static str, name: String) -> Self {
        let running = if url == MEMORY {
            let runtime = Runtime::new().expect("a runtime starts");
            let own = name.clone();
            runtime.spawn(async move {
                if let Err(error) = consume(MEMORY, group, &own).await {
                    eprintln!("{own}: {error}");
                }
            });
            Running::Thread(runtime)
        } else {
            let program = std::env::current_exe().expect("this program has a path");
            let mut command = Command::new(program);
            let child = command.args(["consume", url, group, &name]).spawn();
            Running::Process(child.expect("a process starts"))
        };
        let running = Some(running);
        Self { name, running }
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        match self.running.take() {
            Some(Running::Thread(runtime)) => runtime.shutdown_background(),
            Some(Running::Process(mut child)) => {
                // It may have ended by itself.
                let _ = child.kill();
                let _ = child.wait();
            }
            None => {}
        }
    }
}
