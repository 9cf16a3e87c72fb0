//! What happens to running jobs when a worker is told to stop.
//!
//! ```text
//! cargo run -p goqueue-examples --example graceful_shutdown            # stop it with Ctrl-C or SIGTERM
//! cargo run -p goqueue-examples --example graceful_shutdown -- --demo  # stops itself after 1.5 s
//! ```
//!
//! On the signal the worker takes no more jobs. Those that run may go on for the grace, here a
//! second; then they are told to stop and given back, and run again from their start, by this
//! program's next worker or by another one. A second signal stops at once.

use std::{error::Error, process::ExitCode, time::Duration};

use goqueue::{
    Envelope, QueueName,
    driver::{JobState, PageRequest},
    prelude::*,
};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

#[derive(Debug, Serialize, Deserialize, Job)]
#[job(name = "video.encode", queue = "video")]
struct Encode {
    title: String,
    seconds: u64,
}

impl Handler for Encode {
    async fn handle(self, cx: JobContext) -> JobResult {
        println!("{}: started, takes {} s", self.title, self.seconds);
        tokio::select! {
            () = sleep(Duration::from_secs(self.seconds)) => {
                println!("{}: finished", self.title);
                Ok(())
            }
            // Optional: without it the future is dropped half a second later. The error counts as
            // no failure, since the job was told to stop.
            () = cx.cancelled() => {
                println!("{}: told to stop, tidying up", self.title);
                Err("stopped".into())
            }
        }
    }
}

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let is_demo = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("--demo") => true,
        Some(other) => {
            eprintln!("error: unknown argument `{other}`: allowed is `--demo`");
            return Ok(ExitCode::from(2));
        }
    };
    let queue = Queue::connect_url("memory://").await?;
    let encode = |title: &str, seconds| Encode {
        title: title.into(),
        seconds,
    };
    let jobs = [
        encode("trailer", 1),
        encode("short", 2),
        encode("film", 7200),
        encode("series", 3600),
        encode("concert", 5400),
    ];
    queue.enqueue_all(jobs).await?;

    let worker = Worker::builder(&queue)
        .concurrency(3)
        .shutdown_grace(Duration::from_secs(1))
        .build()?;
    let report = if is_demo {
        let handle = worker.handle();
        tokio::spawn(async move {
            sleep(Duration::from_millis(1500)).await;
            println!("-- shutting down");
            handle.shutdown();
        });
        worker.run().await?
    } else {
        println!("-- stop it with Ctrl-C");
        worker.run_until(goqueue::shutdown_signal()).await?
    };

    println!("-- {report:?}");
    let (video, first) = (QueueName::new("video")?, PageRequest::first(10));
    println!("-- ready for the next worker:");
    for job in queue
        .inspect()?
        .peek(&video, JobState::Ready, first)
        .await?
        .items
    {
        let payload = Envelope::decode(&job.body)?.payload;
        println!("{} attempts spent: {payload}", job.attempts);
    }
    Ok(ExitCode::SUCCESS)
}
