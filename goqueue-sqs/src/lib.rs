//! The Amazon SQS driver: standard and FIFO queues.
//!
//! A queue of goqueue is a queue of SQS, and its dead letters are another one beside it. What SQS
//! limits (a delay of 15 minutes, a lease of 12 hours, attributes that cannot change) is lifted by
//! sending a message again where that is possible, and refused where it is not. `README.md` of this
//! crate tells what is different from other drivers, what it costs, and which permissions it needs.
//!
//! Applications enable the feature `sqs` of the crate `goqueue` and name the region in the URL; this
//! crate alone serves programs that make the driver themselves:
//!
//! ```no_run
//! # async fn example() -> goqueue_core::Result<()> {
//! use goqueue_core::{Config, Queue};
//! use goqueue_sqs::SqsDriver;
//!
//! let config = Config::from_toml(r#"driver = "sqs://eu-west-1/shop-""#)?;
//! let queue = Queue::new(SqsDriver::connect(&config).await?);
//! # Ok(()) }
//! ```

mod address;
mod attributes;
mod batch;
mod clock;
mod config;
mod connection;
mod dead_letters;
mod diagnose;
mod driver;
mod error;
mod held;
mod incoming;
mod inspect;
mod keys;
mod letters;
mod limits;
mod maintain;
mod names;
mod poll;
mod push;
mod queues;
mod resend;
mod reserve;
mod settle;
mod steer;
mod wait;

pub use config::{SCHEMES, SqsConfig, check, connect};
pub use dead_letters::SqsDeadLetters;
pub use diagnose::diagnose;
pub use driver::{FIFO, STANDARD, SqsDriver};
pub use limits::{MAX_ATTRIBUTES, MAX_BATCH, MAX_MESSAGE, RESERVED};
pub use queues::RedrivePolicy;
