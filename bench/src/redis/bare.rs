//! What Redis itself can do: scripts that do the least that is needed, in a loop.

use std::time::Duration;

use futures_util::future::try_join_all;
use redis::{Client, Script, aio::MultiplexedConnection};
use tokio::time::{Instant, sleep};

use crate::{
    measures::{BULK, CONCURRENCY},
    sample::{Failure, Meter, Sample},
};

const READY: &str = "{bare}:ready";
const RUNNING: &str = "{bare}:running";
const LEASES: &str = "{bare}:leases";
const WAITING: &str = "{bare}:waiting";
/// What a job weighs beside its payload: about as much as goqueue's envelope.
const AROUND: usize = 160;

/// A connection of the same client library, and the scripts.
#[derive(Clone)]
pub(crate) struct Bare {
    connection: MultiplexedConnection,
    push: Script,
    claim: Script,
    ack: Script,
}

impl Bare {
    pub(crate) async fn connect(url: &str) -> Result<Self, Failure> {
        let config =
            redis::AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(60)));
        let client = Client::open(url)?;
        let connection = client
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        Ok(Self {
            connection,
            push: Script::new(include_str!("push.lua")),
            claim: Script::new(include_str!("claim.lua")),
            ack: Script::new(include_str!("ack.lua")),
        })
    }

    /// Empties the server.
    pub(crate) async fn empty(&self) -> Result<(), Failure> {
        let mut connection = self.connection.clone();
        redis::cmd("FLUSHALL")
            .query_async::<()>(&mut connection)
            .await?;
        Ok(())
    }

    /// A number that `INFO` tells.
    pub(crate) async fn info(&self, section: &str, field: &str) -> Result<f64, Failure> {
        let mut connection = self.connection.clone();
        let info: redis::InfoDict = redis::cmd("INFO")
            .arg(section)
            .query_async(&mut connection)
            .await?;
        let value = info.get(field).ok_or("the server does not tell")?;
        Ok(value)
    }

    /// How many commands clients have sent. `total_commands_processed` also counts what scripts call.
    pub(crate) async fn calls(&self) -> Result<f64, Failure> {
        const SENT: [&str; 6] = [
            "evalsha",
            "eval",
            "ping",
            "subscribe",
            "info",
            "script|load",
        ];
        let mut connection = self.connection.clone();
        let info: redis::InfoDict = redis::cmd("INFO")
            .arg("commandstats")
            .query_async(&mut connection)
            .await?;
        let calls = |command: &&str| -> Option<f64> {
            let stats: String = info.get(&format!("cmdstat_{command}"))?;
            stats
                .strip_prefix("calls=")?
                .split(',')
                .next()?
                .parse()
                .ok()
        };
        Ok(SENT.iter().filter_map(calls).sum())
    }

    /// How long the least command takes after a rest, in milliseconds.
    pub(crate) async fn pings(&self, samples: usize, rest: Duration) -> Result<Vec<f64>, Failure> {
        let mut connection = self.connection.clone();
        let mut all = Vec::with_capacity(samples);
        for _ in 0..samples {
            sleep(rest).await;
            let start = Instant::now();
            redis::cmd("PING")
                .query_async::<()>(&mut connection)
                .await?;
            all.push(start.elapsed().as_secs_f64() * 1e3);
        }
        Ok(all)
    }

    async fn push(&mut self, jobs: usize, payload: usize) -> Result<(), Failure> {
        let record = vec![b'x'; payload + AROUND];
        let mut call = self.push.prepare_invoke();
        call.key(READY).key(WAITING);
        for _ in 0..jobs {
            call.arg(&record);
        }
        Ok(call.invoke_async(&mut self.connection).await?)
    }

    pub(crate) async fn enqueue(
        &self,
        callers: usize,
        jobs: usize,
        payload: usize,
    ) -> Result<Sample, Failure> {
        let meter = Meter::start();
        let each = jobs / callers;
        let tasks = (0..callers).map(|_| {
            let mut bare = self.clone();
            tokio::spawn(async move {
                for _ in 0..each {
                    bare.push(1, payload).await?;
                }
                Ok::<_, Failure>(())
            })
        });
        for result in try_join_all(tasks).await? {
            result?;
        }
        Ok(meter.stop(each * callers))
    }

    pub(crate) async fn bulk(&self, jobs: usize, payload: usize) -> Result<Sample, Failure> {
        let mut bare = self.clone();
        let meter = Meter::start();
        let mut left = jobs;
        while left > 0 {
            let some = left.min(BULK);
            bare.push(some, payload).await?;
            left -= some;
        }
        Ok(meter.stop(jobs))
    }

    /// Claims a batch under leases, acks it, and so on.
    pub(crate) async fn drain(&self) -> Result<Sample, Failure> {
        let mut bare = self.clone();
        let meter = Meter::start();
        let mut done = 0;
        loop {
            let mut call = bare.claim.prepare_invoke();
            call.key(READY).key(RUNNING).key(LEASES);
            call.arg(CONCURRENCY).arg(done);
            let jobs: Vec<Vec<u8>> = call.invoke_async(&mut bare.connection).await?;
            if jobs.is_empty() {
                return Ok(meter.stop(done));
            }
            let mut call = bare.ack.prepare_invoke();
            call.key(RUNNING).key(LEASES);
            for number in 1..=jobs.len() {
                call.arg(format!("{done}:{number:016}"));
            }
            call.invoke_async::<()>(&mut bare.connection).await?;
            done += jobs.len();
        }
    }
}
