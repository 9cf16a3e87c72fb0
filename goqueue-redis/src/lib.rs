//! The Redis driver: Redis 6.2 and later, Valkey, and Redis Cluster.
//!
//! Every verb of the driver is one call of a Lua script per queue and batch, judged by the server's
//! clock. Every key of a queue carries the hash tag `{queue}`, so a queue lives in one slot of a
//! cluster. `README.md` of this crate describes the keys and how to run the server.
//!
//! Applications enable the feature `redis` of the crate `goqueue` and name the server in the URL;
//! this crate alone serves programs that make the driver themselves:
//!
//! ```no_run
//! # async fn example() -> goqueue_core::Result<()> {
//! use goqueue_core::{Config, Queue};
//! use goqueue_redis::RedisDriver;
//!
//! let config = Config::from_toml(r#"driver = "redis://127.0.0.1:6379/0""#)?;
//! let queue = Queue::new(RedisDriver::connect(&config).await?);
//! # Ok(()) }
//! ```

mod address;
mod config;
mod connection;
mod dead_letters;
mod diagnose;
mod driver;
mod error;
mod group;
mod hand_over;
mod inspect;
mod keys;
mod letter;
mod maintain;
mod page;
#[cfg(test)]
mod parsers;
mod push;
mod record;
mod registry;
mod reply;
mod reserve;
mod scripts;
mod server;
mod settle;
mod wake;

pub use config::{MAX_PREFIX, RedisConfig, SCHEMES, check, connect};
pub use dead_letters::RedisDeadLetters;
pub use diagnose::diagnose;
pub use driver::{CAPABILITIES, RedisDriver};
