//! The servers that a run breaks. A file each, and a line in [`NAMES`] and [`start`].

mod mysql;
mod redis;
mod sqs;

use std::{fmt, time::Duration};

use async_trait::async_trait;
use goqueue::{Config, Queue};
use goqueue_conformance::server::PrivateServer;

/// The backends that can be broken, as the command names them.
pub const NAMES: &[&str] = &["redis", "mysql", "sqs", "sqs-fifo"];

/// How long a server may take to serve.
const PATIENCE: Duration = Duration::from_secs(60);

/// A private server of one backend, and how to reach it.
#[async_trait(?Send)]
pub trait Backend: fmt::Debug {
    /// Its name in [`NAMES`].
    fn name(&self) -> &'static str;

    /// Some bytes that are in every call which changes something, by which the line to the server
    /// knows what to lose.
    fn call(&self) -> &'static [u8];

    /// The configuration of a queue that reaches the server over this port, as TOML.
    fn config(&self, port: u16) -> String;

    /// Whether the server still has what it stored after SIGKILL. One that keeps it in memory has
    /// nothing to start again on, so it is frozen where another is killed.
    fn outlives_kill(&self) -> bool {
        true
    }

    /// The server.
    fn server(&mut self) -> &mut PrivateServer;

    /// Starts the server on what it had stored, and waits until it serves.
    async fn resume(&mut self);
}

/// The backend of this name, started on an empty store.
///
/// # Errors
/// When there is none of this name, or its server's program is not known.
pub async fn start(name: &str) -> Result<Box<dyn Backend>, String> {
    Ok(match name {
        "redis" => Box::new(redis::Redis::start().await),
        "mysql" => Box::new(mysql::Mysql::start().await),
        "sqs" => Box::new(sqs::Sqs::start(false).await?),
        "sqs-fifo" => Box::new(sqs::Sqs::start(true).await?),
        _ => {
            let names = NAMES.join("`, `");
            return Err(format!("got the driver `{name}`, allowed is `{names}`"));
        }
    })
}

async fn until_it_serves(server: &mut PrivateServer, config: &str) {
    let config = Config::from_toml(config).expect("the configuration of a backend is valid");
    let serves = || async { Queue::connect(&config).await.is_ok() };
    server.until(PATIENCE, serves).await;
}
