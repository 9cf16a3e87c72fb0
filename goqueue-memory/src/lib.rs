//! The in-process driver of goqueue.
//!
//! [`MemoryDriver`] keeps every clause of the contract in the memory of one process: what an
//! application embeds when it needs no server, what it tests with, and what the other drivers are
//! compared to. Its jobs are lost when the process ends, and
//! [`Capabilities::durable`](goqueue_core::driver::Capabilities::durable) says so.
//!
//! ```
//! # use goqueue_core::{Config, Queue};
//! # use goqueue_memory::MemoryDriver;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> goqueue_core::Result<()> {
//! let queue = Queue::new(MemoryDriver::new());
//! queue.enqueue_raw("mail.welcome", r#"{ "user_id": 1 }"#).await?;
//!
//! // Or as configured: both connect to the store called `app`.
//! let config = Config::from_toml(r#"
//!     driver = "memory://app"
//!     [memory]
//!     capacity = 50_000
//! "#)?;
//! let (web, worker) = (MemoryDriver::connect(&config)?, MemoryDriver::connect(&config)?);
//! # let (web, worker) = (Queue::new(web), Queue::new(worker));
//! # web.enqueue_raw("ping", "{}").await?;
//! # assert_eq!(worker.inspect()?.queues().await?.len(), 1);
//! # Ok(()) }
//! ```
//!
//! # Order
//!
//! Jobs run in the order in which they became due. A released job goes back to where it was, which
//! is in front of everything that came after it; so does the next job of an ordering key, once the
//! one before has ended. A retried job, and one whose lease ran out, queues again at the end.
//!
//! # Time
//!
//! Time is tokio's ([`tokio::time::Instant`]), so `tokio::time::pause` and `advance` drive the
//! driver in tests. [`MemoryDriver::advance`] moves one store's clock without them. Delays, leases
//! and holds count in whole milliseconds, rounded up. A lease that is past its end is lost, even
//! when nobody has taken the job back yet.
//!
//! An idle driver does nothing: there is no poller, and a waiting `reserve` sleeps until a job comes
//! or the next one is due. Waiting needs a tokio runtime with its timer enabled.
//!
//! # Memory
//!
//! A job takes its encoded bytes, kept as they were handed over, and beside them, as counted by a
//! counting allocator over 2^20 jobs with keys of ten bytes:
//!
//! | job | bytes |
//! | --- | ---: |
//! | ready | 108 |
//! | scheduled or running | 150 |
//! | waiting for a retry | 215 and its last error |
//! | with an ordering or a unique key | 200 to 310 |
//! | dead letter | 305 and its last error |
//!
//! Just after a container has grown it is up to twice that. `[memory] capacity` bounds the number of
//! jobs, live and dead, of up to 64 MiB each; a push beyond it is refused with
//! [`Error::QueueFull`](goqueue_core::Error::QueueFull). Memory that a burst left behind is given
//! back during upkeep.

mod arena;
mod clock;
mod config;
mod dead;
mod dead_letters;
mod driver;
mod inspect;
mod job;
mod lane;
mod listing;
mod log;
mod maintain;
mod push;
mod queue;
mod reserve;
mod settle;
mod store;
pub mod testing;
#[cfg(test)]
mod tests;
mod unique;
mod wait;

pub use config::{DEFAULT_CAPACITY, MAX_CAPACITY, MemoryConfig, check, connect};
pub use dead_letters::MemoryDeadLetters;
pub use driver::{MemoryDriver, MemoryDriverBuilder};
pub use log::{MemoryLog, connect_log};
