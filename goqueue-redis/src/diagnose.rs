//! Looking for what is wrong with a server, and saying how to mend it.

mod checks;
mod info;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use goqueue_core::{
    Config, Error, QueueName, Result,
    driver::{DiagnoseFuture, Finding},
};
use redis::Cmd;
use tokio::time::{Instant, timeout};

use crate::{
    config::Settings,
    connection::{Connection, clients},
    error::Operation,
    keys::Keys,
    reply::Reply,
    scripts::{Args, DIAGNOSE},
};
use info::Info;
pub(crate) use info::text_of;

/// The queue whose keys the diagnosis tries the commands on.
const QUEUE: &str = "goqueue-doctor";
/// What a user needs, as in the README.
const RIGHTS: &str = "+@read +@write +@scripting +@connection +@pubsub +time +info";

/// Diagnoses the server that the configuration names, for a
/// [`DriverEntry`](goqueue_core::driver::DriverEntry). What it writes it removes again at once.
#[must_use = "a diagnosis is made when this is awaited"]
pub fn diagnose(config: Config) -> DiagnoseFuture {
    Box::pin(async move {
        match Settings::of(&config) {
            Ok(settings) => look(&config, &settings).await,
            Err(error) => vec![Finding::problem(
                "configuration",
                error.to_string(),
                "correct the setting",
            )],
        }
    })
}

async fn look(config: &Config, settings: &Settings) -> Vec<Finding> {
    let connection = match Connection::open(settings).await {
        Ok(connection) => connection,
        Err(error) => return vec![unreachable(settings, &error)],
    };
    let mut findings = vec![reachable(&connection, settings).await];
    let info = Info::of(&connection, settings.address.is_cluster).await;
    findings.extend(checks::all(&info, settings.address.is_cluster));
    findings.extend(cluster(&connection, settings).await);
    findings.extend(probe(&connection, settings).await);
    findings.push(subscription(settings).await);
    findings.push(lease(config, settings));
    findings
}

fn unreachable(settings: &Settings, error: &Error) -> Finding {
    let text = error.to_string();
    let address = &settings.address;
    let fix = match error {
        Error::Config(_) => "correct the URL".into(),
        _ if text.contains("WRONGPASS") || text.contains("invalid password") => {
            "correct the user and the password in the URL; special characters are percent-encoded"
                .into()
        }
        _ if text.contains("NOAUTH") || text.contains("NOPERM") => {
            format!("put a user and a password into the URL whose rights are `{RIGHTS}`")
        }
        _ => format!("see that a server runs at {address} and that this machine may connect to it"),
    };
    Finding::problem("reachable", text, fix)
}

async fn reachable(connection: &Connection, settings: &Settings) -> Finding {
    let asked = Instant::now();
    let answer = connection
        .send(Operation::Ping, redis::cmd("PING").arg("goqueue"))
        .await;
    let took = asked.elapsed();
    match answer {
        Ok(_) if took < settings.response_timeout / 5 => {
            Finding::good("reachable", format!("answers within {took:.1?}"))
        }
        Ok(_) => Finding::warning(
            "reachable",
            format!(
                "answers after {took:.1?}, with `redis.response_timeout` {:?}",
                settings.response_timeout
            ),
            "look for what keeps the server (`redis-cli --latency`, `SLOWLOG GET`), or raise \
             `redis.response_timeout`",
        ),
        Err(failed) => unreachable(settings, &failed.error),
    }
}

/// Whether every slot is served.
async fn cluster(connection: &Connection, settings: &Settings) -> Option<Finding> {
    const CHECK: &str = "cluster slots";
    if !settings.address.is_cluster {
        return None;
    }
    let mut cmd = Cmd::new();
    cmd.arg("CLUSTER").arg("INFO");
    Some(match connection.send(Operation::Connect, &cmd).await {
        Ok(answer) => checks::slots(&text_of(&answer)),
        Err(failed) => Finding::unknown(
            CHECK,
            failed.error.to_string(),
            "let the user ask: `ACL SETUSER … +cluster|info`",
        ),
    })
}

/// Rights and the clock, by trying.
async fn probe(connection: &Connection, settings: &Settings) -> Vec<Finding> {
    let answer = try_commands(connection, settings).await;
    let (now, sent, got, refused) = match answer {
        Ok(answer) => answer,
        Err(error) => {
            let fix = format!("give the user its rights: `ACL SETUSER … {RIGHTS}`");
            return vec![Finding::problem("permissions", error.to_string(), fix)];
        }
    };
    vec![
        checks::permissions(&refused, &settings.prefix),
        checks::clock(now, sent, got),
    ]
}

type Tried = (u64, u64, u64, Vec<String>);

/// The server's time, this machine's before and after, and what was refused.
async fn try_commands(connection: &Connection, settings: &Settings) -> Result<Tried> {
    let keys = Keys::new(&settings.prefix).of(&QueueName::new(QUEUE)?);
    let used = [
        keys.ready.as_str(),
        &keys.running,
        &keys.scheduled,
        &keys.waiting,
    ];
    let mut args = Args::with_capacity(1);
    args.bytes(&keys.channel);
    let sent = unix_millis();
    let value = connection.run(&DIAGNOSE, &used, &args).await?;
    let got = unix_millis();
    let mut list = Reply::of(value, Operation::Inspect).list()?;
    let now = list.count()?;
    let mut answers = list.list()?;
    let mut refused = Vec::new();
    while !answers.is_empty() {
        refused.push(String::from_utf8_lossy(&answers.bytes()?).into_owned());
    }
    // What the driver does outside its scripts.
    let registry = Keys::new(&settings.prefix).registry();
    for name in ["SMEMBERS", "SCARD"] {
        let mut cmd = redis::cmd(name);
        if let Err(failed) = connection
            .send(Operation::Inspect, cmd.arg(&registry))
            .await
        {
            refused.push(format!("{name}: {}", failed.error));
        }
    }
    Ok((now, sent, got, refused))
}

/// Whether waiting workers can be woken.
async fn subscription(settings: &Settings) -> Finding {
    const CHECK: &str = "wake-ups";
    let fix = "let the user subscribe: `ACL SETUSER … +@pubsub &PREFIX:*`; without it idle workers \
               look every 600 ms";
    let channel = match QueueName::new(QUEUE) {
        Ok(queue) => Keys::new(&settings.prefix).of(&queue).channel.clone(),
        Err(error) => return Finding::unknown(CHECK, error.to_string(), fix),
    };
    let subscribe = async {
        let client = clients(settings)?.swap_remove(0);
        client.get_async_pubsub().await?.subscribe(&channel).await
    };
    match timeout(settings.connect_timeout, subscribe).await {
        Ok(Ok(())) => Finding::good(CHECK, "waiting workers can be woken"),
        Ok(Err(error)) => Finding::warning(CHECK, error.to_string(), fix),
        Err(_) => {
            let after = settings.connect_timeout;
            Finding::warning(CHECK, format!("no answer within {after:?}"), fix)
        }
    }
}

/// A lease is extended from a quarter of it on: an answer that is late must not cost the lease.
fn lease(config: &Config, settings: &Settings) -> Finding {
    const CHECK: &str = "lease against timeout";
    let (lease, timeout) = (config.worker.lease, settings.response_timeout);
    let found = format!("`worker.lease` {lease:?}, `redis.response_timeout` {timeout:?}");
    if lease / 2 >= timeout {
        return Finding::good(CHECK, found);
    }
    let least = timeout * 2;
    let fix = format!(
        "raise `worker.lease` to {least:?} or more, or lower `redis.response_timeout`: one answer that \
         does not come would cost every lease"
    );
    Finding::warning(CHECK, found, fix)
}

fn unix_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
