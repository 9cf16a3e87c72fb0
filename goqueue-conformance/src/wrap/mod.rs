//! Drivers around a driver: disturbing it, watching it, or breaking its promises.

mod faults;
mod faulty;
mod spy;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use goqueue_core::{
    QueueName, Result,
    driver::{
        Capabilities, Driver, Inspect, Lease, LeaseOutcome, Maintenance, NewJob, PushOutcome,
        ReserveRequest, Reserved, Settlement,
    },
};

pub use faults::{FaultControl, Faults, Op};
pub use faulty::FaultyDriver;
pub use spy::{Call, Spy};

/// A change to a driver. Everything that is not overridden goes to the driver inside.
///
/// [`Wrapped`] makes a driver of it.
#[async_trait]
pub trait Around: fmt::Debug + Send + Sync + 'static {
    /// The driver inside.
    fn inner(&self) -> &Arc<dyn Driver>;

    /// [`Driver::capabilities`]
    fn capabilities(&self) -> &Capabilities {
        self.inner().capabilities()
    }

    /// [`Driver::ping`]
    async fn ping(&self) -> Result<()> {
        self.inner().ping().await
    }

    /// [`Driver::push`]
    async fn push(&self, jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        self.inner().push(jobs).await
    }

    /// [`Driver::reserve`]
    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        self.inner().reserve(request).await
    }

    /// [`Driver::extend`]
    async fn extend(&self, leases: Vec<Lease>, by: Duration) -> Result<Vec<LeaseOutcome>> {
        self.inner().extend(leases, by).await
    }

    /// [`Driver::settle`]
    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        self.inner().settle(settlements).await
    }

    /// [`Driver::maintain`]
    async fn maintain(&self, queues: &[QueueName]) -> Result<Maintenance> {
        self.inner().maintain(queues).await
    }

    /// [`Driver::inspect`]
    fn inspect(&self) -> Option<&dyn Inspect> {
        self.inner().inspect()
    }

    /// [`Driver::close`]
    async fn close(&self) -> Result<()> {
        self.inner().close().await
    }
}

/// The driver that an [`Around`] makes of the one inside it.
#[derive(Debug)]
pub struct Wrapped<A>(pub A);

#[async_trait]
impl<A: Around> Driver for Wrapped<A> {
    fn capabilities(&self) -> &Capabilities {
        self.0.capabilities()
    }

    async fn ping(&self) -> Result<()> {
        self.0.ping().await
    }

    async fn push(&self, jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        self.0.push(jobs).await
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        self.0.reserve(request).await
    }

    async fn extend(&self, leases: Vec<Lease>, by: Duration) -> Result<Vec<LeaseOutcome>> {
        self.0.extend(leases, by).await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        self.0.settle(settlements).await
    }

    async fn maintain(&self, queues: &[QueueName]) -> Result<Maintenance> {
        self.0.maintain(queues).await
    }

    fn inspect(&self) -> Option<&dyn Inspect> {
        self.0.inspect()
    }

    async fn close(&self) -> Result<()> {
        self.0.close().await
    }
}
