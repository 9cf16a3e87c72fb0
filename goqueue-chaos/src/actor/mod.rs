//! The processes of a run.

mod planted;
mod producer;
mod worker;

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use goqueue::{BoxError, Config, Queue};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

use crate::ledger::Ledger;

pub use planted::Planted;

/// How long a lease lasts.
pub const LEASE: Duration = Duration::from_secs(2);

/// What an actor is told.
#[derive(Clone, Debug)]
pub struct Part {
    /// What it does.
    pub role: Role,
    /// Its name, which no other process of the run has.
    pub name: String,
    /// The configuration of its queue, as TOML.
    pub config: String,
    /// The folder of the ledgers.
    pub folder: PathBuf,
    /// What its choices are made of.
    pub seed: u64,
    /// A fault of the driver that is to be found.
    pub planted: Option<Planted>,
}

/// What an actor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Enqueues jobs.
    Producer,
    /// Runs them.
    Worker,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Role::Producer => "producer",
            Role::Worker => "worker",
        })
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "producer" => Ok(Role::Producer),
            "worker" => Ok(Role::Worker),
            _ => Err(format!("got `{text}`, allowed is `producer` or `worker`")),
        }
    }
}

/// Plays a part, until standard input ends.
///
/// # Errors
/// When the ledger cannot be written, or something ends the worker for good.
pub async fn play(part: Part) -> Result<(), BoxError> {
    let ledger = Ledger::open(&part.folder, &part.name)?;
    let Some(queue) = connected(&part).await? else {
        return Ok(());
    };
    match part.role {
        Role::Producer => producer::produce(&queue, &ledger, &part.name, part.seed).await,
        Role::Worker => worker::work(&queue, &ledger).await?,
    }
    Ok(())
}

/// Connects as soon as the backend lets it; `None` when the run is over before that.
async fn connected(part: &Part) -> Result<Option<Queue>, BoxError> {
    let config = Config::from_toml(&part.config)?;
    let connecting = async {
        loop {
            match Queue::connect(&config).await {
                Ok(queue) => return Ok(queue),
                Err(error) if error.is_transient() => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                Err(error) => return Err(error),
            }
        }
    };
    tokio::select! {
        queue = connecting => {
            let queue = queue?;
            Ok(Some(match part.planted {
                Some(fault) => fault.in_front_of(&queue),
                None => queue,
            }))
        }
        () = told_to_stop() => Ok(None),
    }
}

/// Waits for a line or the end of standard input, which also comes when the run itself is killed.
async fn told_to_stop() {
    let _ = BufReader::new(stdin()).lines().next_line().await;
}
