//! Dead letters that leave their backend: each becomes a job of another one, and rings a bell.
//!
//! ```text
//! cargo run -p goqueue-examples --example cross_driver_dead_letters
//! ```
//!
//! Both backends are in memory here; any two URLs do. A letter's job is acked only after the sink has
//! the letter, so a sink that fails loses nothing: this one fails at first.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use async_trait::async_trait;
use goqueue::{BoxError, DeadLetter, DeadLetters, Envelope, dead_letter::sink_fn, prelude::*};
use serde::{Deserialize, Serialize};

/// Fails for good when its row is odd.
#[derive(Debug, Serialize, Deserialize, Job)]
#[job(name = "import.row", queue = "imports")]
struct ImportRow {
    row: u32,
}

impl Handler for ImportRow {
    async fn handle(self, _cx: JobContext) -> JobResult {
        if self.row % 2 == 1 {
            return Err(JobError::permanent(format!(
                "row {} has no price",
                self.row
            )));
        }
        Ok(())
    }
}

/// A dead letter, as a job of the other backend. The same letter may come twice when a worker dies
/// at the wrong moment, so its id is the unique key.
#[derive(Debug, Serialize, Deserialize, Job)]
#[job(
    name = "dead-letter.review",
    queue = "dead-letters",
    unique_key = "self.id"
)]
struct Review {
    id: JobId,
    from: String,
    reason: String,
    error: String,
    attempts: u32,
    /// The stored job, untouched, so that it can be enqueued again as it was.
    body: Vec<u8>,
}

impl Handler for Review {
    async fn handle(self, _cx: JobContext) -> JobResult {
        let job = Envelope::decode(&self.body)?;
        println!(
            "review: `{}` {} from `{}`, {} after {} attempt(s): {}",
            job.name, job.payload, self.from, self.reason, self.attempts, self.error
        );
        Ok(())
    }
}

/// A sink that is a queue of any backend.
struct ToQueue(Queue);

#[async_trait]
impl DeadLetters for ToQueue {
    async fn store(&self, letter: DeadLetter) -> Result<(), BoxError> {
        let review = Review {
            id: letter.id,
            from: letter.queue.to_string(),
            reason: letter.reason.to_string(),
            error: letter.error,
            attempts: letter.attempts,
            body: letter.body.to_vec(),
        };
        self.0.enqueue(review).await?;
        Ok(())
    }
}

/// One sink after the other. An error of the second has both called again, which is why sinks key
/// on the letter's id.
struct Both<A, B>(A, B);

#[async_trait]
impl<A: DeadLetters, B: DeadLetters> DeadLetters for Both<A, B> {
    async fn store(&self, letter: DeadLetter) -> Result<(), BoxError> {
        self.0.store(letter.clone()).await?;
        self.1.store(letter).await
    }
}

#[tokio::main]
async fn main() -> goqueue::Result<()> {
    let jobs = Queue::connect_url("memory://").await?;
    let letters = Queue::connect_url("memory://").await?;
    jobs.enqueue_all((1..=4).map(|row| ImportRow { row }))
        .await?;

    let failed_once = AtomicBool::new(false);
    let bell = sink_fn(move |letter: DeadLetter| {
        let works = failed_once.swap(true, Relaxed);
        async move {
            if !works {
                println!("the bell is broken; its letter is tried again");
                return Err("the bell is broken".into());
            }
            println!("bell: {}", letter.error);
            Ok(())
        }
    });
    let report = Worker::builder(&jobs)
        .queue("imports", 1)
        .dead_letters(Both(ToQueue(letters.clone()), bell))
        .build()?
        .drain()
        .await?;
    println!("{} rows ran", report.finished);

    let own = jobs
        .inspect()?
        .stats(&"imports".to_owned().try_into()?)
        .await?;
    println!("{} dead letters in the jobs' own backend", own.dead);
    let report = Worker::builder(&letters)
        .queue("dead-letters", 1)
        .concurrency(1)
        .build()?
        .drain()
        .await?;
    println!("{} letters reviewed", report.finished);
    Ok(())
}
