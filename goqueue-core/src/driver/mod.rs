//! What a backend implements.
//!
//! A driver stores bytes, hands them out under leases and counts deliveries. It decides nothing:
//! which jobs may run again, when, and where dead ones go is the worker's decision, which the
//! driver writes down. The clauses it has to keep are those of the contract; the conformance suite
//! checks every one.

mod administer;
mod capabilities;
mod gate;
mod inspect;
mod maintain;
mod push;
mod reserve;
mod settle;
mod url;
mod waiters;

use std::{any::Any, fmt, time::Duration};

use async_trait::async_trait;

pub use administer::{
    DiagnoseFuture, Finding, FindingStatus, MigrateFuture, SchemaChange, check, diagnose, migrate,
};
pub use capabilities::{
    BatchLimits, Capabilities, Clock, DelayLimits, InspectCapability, UniqueCapability,
};
pub use gate::Gate;
pub use inspect::{
    DeadLetterInfo, Inspect, JobInfo, JobState, Page, PageRequest, QueueStats, Selection,
};
pub use maintain::Maintenance;
pub use push::{NewJob, PushOutcome, UniqueKey};
pub use reserve::{Lease, LeaseToken, QueueShare, ReserveRequest, Reserved};
pub use settle::{LeaseOutcome, Settlement, Verdict};
pub use url::{ConnectFuture, DriverEntry, DriverUrl};
pub use waiters::{Recipient, Waiters, Waiting};

use crate::{error::Result, job::QueueName};

/// A backend. Every method is required; every batch is answered item by item, in its order.
///
/// A driver is shared by every queue handle and worker of a program, so all methods take `&self`
/// and may run at the same time. Dropping a future of [`push`](Driver::push),
/// [`reserve`](Driver::reserve) or [`settle`](Driver::settle) leaves open whether the backend
/// acted; the worker never does so, and uses the request's `cancel` token instead.
#[async_trait]
pub trait Driver: Any + fmt::Debug + Send + Sync {
    /// What the backend can do. Constant for the life of the driver.
    fn capabilities(&self) -> &Capabilities;

    /// Asks the backend for a sign of life.
    ///
    /// # Errors
    /// The reason why it cannot serve.
    async fn ping(&self) -> Result<()>;

    /// Stores jobs, in order, at most [`BatchLimits::jobs`] of them.
    ///
    /// # Errors
    /// When nothing can be said about the batch as a whole. What is known of a single job is its
    /// own [`PushOutcome`].
    async fn push(&self, jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>>;

    /// Takes up to `request.max` jobs under a lease, each with its attempt already raised.
    ///
    /// Two passes: first up to its `share` from each queue, in the order given; then, while there
    /// is room, whatever else is ready, in the same order. With nothing ready it waits for the
    /// first job, until `request.wait` is over or `request.cancel` fires, and then returns what it
    /// has, possibly nothing.
    ///
    /// # Errors
    /// When the backend could not be asked.
    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>>;

    /// Moves the end of each lease to `by` from now, by the backend's clock.
    ///
    /// # Errors
    /// When nothing can be said about the batch as a whole.
    async fn extend(&self, leases: Vec<Lease>, by: Duration) -> Result<Vec<LeaseOutcome>>;

    /// Ends leases, each with its own verdict.
    ///
    /// # Errors
    /// When nothing can be said about the batch as a whole. Settling again is always safe: what was
    /// already settled answers [`LeaseOutcome::Lost`].
    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>>;

    /// One bounded pass of promotion, recovery and retention over `queues`.
    ///
    /// # Errors
    /// When the backend could not be asked.
    async fn maintain(&self, queues: &[QueueName]) -> Result<Maintenance>;

    /// The administrative calls, where the backend has them.
    fn inspect(&self) -> Option<&dyn Inspect>;

    /// Refuses new calls and waits for those in flight.
    ///
    /// # Errors
    /// When the connection could not be ended in an orderly way.
    async fn close(&self) -> Result<()>;
}

impl dyn Driver {
    /// The driver as what it is, for what only this kind of driver can do. `None` when it is another
    /// one, or when something is wrapped around it.
    #[must_use]
    pub fn downcast_ref<D: Driver>(&self) -> Option<&D> {
        let driver: &dyn Any = self;
        driver.downcast_ref()
    }
}
