//! For tests of applications: see what was enqueued, run it, move time.
//!
//! ```
//! # use std::time::Duration;
//! # use goqueue_core::{Handler, Job, JobContext, JobResult};
//! # use goqueue_memory::testing::TestQueue;
//! # use serde::{Deserialize, Serialize};
//! #[derive(Serialize, Deserialize)]
//! struct Remind {
//!     user_id: u64,
//! }
//! # impl Job for Remind {
//! #     const NAME: &'static str = "remind";
//! # }
//!
//! impl Handler for Remind {
//!     async fn handle(self, _cx: JobContext) -> JobResult {
//!         Ok(())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> goqueue_core::Result<()> {
//! let test = TestQueue::new();
//! let tomorrow = Duration::from_secs(24 * 3600);
//! test.queue().enqueue(Remind { user_id: 7 }).delay(tomorrow).await?;
//! test.assert_enqueued(|job: &Remind| job.user_id == 7);
//!
//! test.advance(tomorrow);
//! let worker = test.worker().register::<Remind>(); // not needed when it is derived
//! assert_eq!(test.drain_with(worker).await?.finished, 1);
//! assert!(test.enqueued::<Remind>().is_empty());
//! assert!(test.dead_letters().is_empty());
//! # Ok(()) }
//! ```

use std::{fmt::Write, time::Duration};

use goqueue_core::{
    Envelope, Job, JobId, Queue, QueueName, Report, Result, Worker, WorkerBuilder,
    driver::{DeadLetterInfo, JobState, Page, PageRequest},
};

use crate::MemoryDriver;

/// A queue in memory, and a view into it. Every one has a store of its own, so tests may run side by
/// side. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TestQueue {
    driver: MemoryDriver,
    queue: Queue,
}

/// A live job.
struct Stored {
    id: JobId,
    queue: QueueName,
    state: JobState,
    /// `None` when the stored bytes are no envelope.
    envelope: Option<Envelope>,
}

impl TestQueue {
    /// An empty queue with the default settings.
    #[must_use]
    pub fn new() -> Self {
        let driver = MemoryDriver::new();
        let queue = Queue::new(driver.clone());
        Self { driver, queue }
    }

    /// The queue to hand to the code under test.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// The driver behind it.
    #[must_use]
    pub fn driver(&self) -> &MemoryDriver {
        &self.driver
    }

    /// The jobs of this type that have not ended, in whichever queue: waiting, scheduled and
    /// running ones, in the order they were enqueued.
    ///
    /// # Panics
    /// When the payload of one is no `J`, or the queue was closed.
    #[must_use]
    #[track_caller]
    pub fn enqueued<J: Job>(&self) -> Vec<J> {
        decode(&self.stored())
    }

    /// The same for one queue.
    ///
    /// # Panics
    /// As for [`enqueued`](TestQueue::enqueued), and when no queue can have this name.
    #[must_use]
    #[track_caller]
    pub fn enqueued_in<J: Job>(&self, queue: &str) -> Vec<J> {
        let queue = QueueName::new(queue).unwrap_or_else(|error| panic!("{error}"));
        let mut stored = self.stored();
        stored.retain(|job| job.queue == queue);
        decode(&stored)
    }

    /// Checks that there is a job of this type, not ended yet, for which `is_meant` holds.
    ///
    /// # Panics
    /// When there is none; the message lists the jobs that there are. Also as for
    /// [`enqueued`](TestQueue::enqueued).
    #[track_caller]
    pub fn assert_enqueued<J: Job>(&self, is_meant: impl Fn(&J) -> bool) {
        let stored = self.stored();
        if !decode::<J>(&stored).iter().any(is_meant) {
            panic!("no enqueued `{}` job matches; {}", J::NAME, list(&stored));
        }
    }

    /// Runs every job that is due, one after the other, and those they enqueue, in every queue, and
    /// returns when none is left. Jobs due later stay; see [`advance`](TestQueue::advance). The
    /// handlers are those of the derived job types.
    ///
    /// # Errors
    /// As for [`WorkerBuilder::build`] and [`Worker::drain`]. A job that fails is no error: it is
    /// retried or dead.
    pub async fn drain(&self) -> Result<Report> {
        let (mut total, mut served) = (Report::default(), 0);
        loop {
            let queues = self.driver.queues_now()?;
            if queues.len() == served {
                return Ok(total);
            }
            // The jobs may enqueue into queues that are not known yet.
            served = queues.len();
            let worker = self.worker().concurrency(1);
            let worker = queues
                .iter()
                .fold(worker, |worker, name| worker.queue(name.as_str(), 1));
            let report = worker.build()?.drain().await?;
            total.finished += report.finished;
            total.released += report.released;
            total.abandoned += report.abandoned;
        }
    }

    /// Like [`drain`](TestQueue::drain), with a worker of one's own: its state, layers and job
    /// types, as many jobs at once as it says, and the queues that it says or its job types name.
    ///
    /// # Errors
    /// As for [`drain`](TestQueue::drain).
    pub async fn drain_with(&self, worker: WorkerBuilder) -> Result<Report> {
        worker.build()?.drain().await
    }

    /// A worker on this queue, to set up for [`drain_with`](TestQueue::drain_with) or to run.
    pub fn worker(&self) -> WorkerBuilder {
        Worker::builder(&self.queue)
    }

    /// Moves the queue's time: delayed jobs and retries become due, holds and leases end.
    pub fn advance(&self, by: Duration) {
        self.driver.advance(by);
    }

    /// The dead letters of all queues, the oldest job first.
    ///
    /// # Panics
    /// When the queue was closed.
    #[must_use]
    #[track_caller]
    pub fn dead_letters(&self) -> Vec<DeadLetterInfo> {
        let mut letters = Vec::new();
        for queue in open(self.driver.queues_now()) {
            letters.extend(all_pages(|page| self.driver.dead_letters_now(&queue, page)));
        }
        letters.sort_by_key(|letter| letter.id);
        letters
    }

    #[track_caller]
    fn stored(&self) -> Vec<Stored> {
        let mut stored = Vec::new();
        for queue in open(self.driver.queues_now()) {
            for state in [JobState::Ready, JobState::Scheduled, JobState::Running] {
                let jobs = all_pages(|page| self.driver.peek_now(&queue, state, page));
                stored.extend(jobs.into_iter().map(|job| Stored {
                    id: job.id,
                    queue: queue.clone(),
                    state,
                    envelope: Envelope::decode(&job.body).ok(),
                }));
            }
        }
        stored.sort_by_key(|job| job.id);
        stored
    }
}

impl Default for TestQueue {
    fn default() -> Self {
        Self::new()
    }
}

#[track_caller]
fn open<T>(answer: Result<T>) -> T {
    answer.unwrap_or_else(|error| panic!("the test queue cannot be looked into: {error}"))
}

#[track_caller]
fn all_pages<T>(page: impl Fn(&PageRequest) -> Result<Page<T>>) -> Vec<T> {
    let (mut items, mut request) = (Vec::new(), PageRequest::first(1_000));
    loop {
        let Page { items: more, next } = open(page(&request));
        items.extend(more);
        if next.is_none() {
            return items;
        }
        request.after = next;
    }
}

#[track_caller]
fn decode<J: Job>(stored: &[Stored]) -> Vec<J> {
    let envelopes = stored.iter().filter_map(|job| job.envelope.as_ref());
    envelopes
        .filter(|envelope| envelope.name == J::NAME)
        .map(|envelope| {
            serde_json::from_str(envelope.payload.get()).unwrap_or_else(|error| {
                let (id, name, payload) = (envelope.id, J::NAME, envelope.payload.get());
                panic!("the payload of job {id} is no `{name}`: {error}: {payload}")
            })
        })
        .collect()
}

fn list(stored: &[Stored]) -> String {
    if stored.is_empty() {
        return "no job is enqueued at all".into();
    }
    let mut text = String::from("enqueued are:");
    for Stored {
        id,
        queue,
        state,
        envelope,
    } in stored
    {
        let (name, payload) = match envelope {
            Some(envelope) => (envelope.name.as_str(), envelope.payload.get()),
            None => ("?", "(no envelope)"),
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  `{name}` {payload} in `{queue}`, {state}, {id}");
    }
    text
}
