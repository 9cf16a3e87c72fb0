//! The whole of it: a job, its handler, two enqueues, a worker that stops on Ctrl-C.
//!
//! ```text
//! cargo run -p goqueue-examples --example quickstart
//! ```
//!
//! It keeps its jobs in memory. Another backend is another URL: in a file `goqueue.toml` in the
//! directory it is started from (`examples/goqueue.toml` has every key), or in `GOQUEUE_DRIVER`.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use goqueue::{middleware::default_stack, prelude::*};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, Job)]
#[job(
    name = "mail.welcome",
    queue = "mail",
    max_attempts = 5,
    timeout = "30s"
)]
struct WelcomeMail {
    user_id: u64,
}

impl Handler for WelcomeMail {
    async fn handle(self, cx: JobContext) -> JobResult {
        let mailer = cx.state::<Mailer>()?; // shared state, by type
        mailer.send(self.user_id).await?; // any error: retried with backoff
        Ok(())
    }
}

/// Stands for a connection to a mail server.
#[derive(Debug, Default)]
struct Mailer;

impl Mailer {
    async fn send(&self, user_id: u64) -> io::Result<()> {
        tokio::time::sleep(Duration::from_millis(50)).await;
        // Inside the span that `default_stack` opened: the line shows which job and attempt it is of.
        tracing::info!("welcome mail sent to user {user_id}");
        Ok(())
    }
}

#[tokio::main]
async fn main() -> goqueue::Result<()> {
    let is_terminal = io::stderr().is_terminal();
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(is_terminal)
        .init();

    let config = Config::load()?; // goqueue.toml, then GOQUEUE_* variables
    let queue = Queue::connect(&config).await?; // memory:// unless told otherwise

    queue.enqueue(WelcomeMail { user_id: 1 }).await?;
    queue
        .enqueue(WelcomeMail { user_id: 2 })
        .delay(Duration::from_secs(300))
        .unique_key("welcome-2")
        .await?;
    println!("Enqueued a mail for user 1, and one for user 2 that is due in five minutes.");
    println!("The worker waits for jobs until you press Ctrl-C.");

    // A span and a log line per run: without them a failure that is tried again shows nowhere.
    let report = default_stack(Worker::builder(&queue))
        .state(Mailer)
        .concurrency(32)
        .build()?
        .run_until(goqueue::shutdown_signal())
        .await?;
    println!(
        "Stopped: {} finished, {} given back.",
        report.finished, report.released
    );
    Ok(())
}
