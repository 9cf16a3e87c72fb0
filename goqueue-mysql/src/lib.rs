//! The MySQL and MariaDB driver of goqueue.
//!
//! Jobs are rows. A job that is delayed, waits for a retry or is running is a row that is not
//! visible yet, so one number per job, `visible_after`, is the whole state machine; workers take
//! visible rows with `FOR UPDATE SKIP LOCKED` and never wait for each other. MySQL 8.0 and later,
//! MariaDB 10.6 and later.
//!
//! Programs use it through the facade crate `goqueue`, feature `mysql`, and a URL such as
//! `mysql://user:password@host:3306/database`. [`EnqueueIn`] stores jobs inside your own
//! transaction; [`MysqlDriver::with_pool`] shares your pool; [`MysqlDeadLetters`] keeps the dead
//! letters of any driver. [`log`] is the partitioned message log, with consumer groups.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod claim;
mod clock;
mod config;
mod connections;
mod dead_letters;
mod diagnose;
mod driver;
mod error;
mod floors;
mod hand_over;
mod hash;
mod inspect;
mod lanes;
pub mod log;
mod maintain;
mod migrate;
#[cfg(test)]
mod parsers;
#[cfg(test)]
mod plans;
mod portions;
mod push;
mod registry;
mod reserve;
mod row;
mod settle;
mod shared;
mod sql;
mod token;
mod transaction;
mod unique;

pub use config::{MysqlConfig, check, connect};
pub use dead_letters::MysqlDeadLetters;
pub use diagnose::diagnose;
pub use driver::{MAX_PAYLOAD, MysqlDriver, capabilities};
pub use migrate::{Migrated, migrate, migrate_schema};
pub use sqlx;
pub use transaction::{EnqueueIn, EnqueueInTransaction};
