use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use goqueue_core::{
    QueueName, Result,
    driver::{
        Driver, Lease, LeaseOutcome, Maintenance, NewJob, PushOutcome, ReserveRequest, Reserved,
        Settlement, Verdict,
    },
};

use super::{Around, Op, Wrapped};

/// Notes every call on its way to a driver.
#[derive(Debug)]
pub struct Spy {
    inner: Arc<dyn Driver>,
    calls: Mutex<Vec<Call>>,
}

/// One call, as it was made.
#[derive(Clone, Debug)]
pub enum Call {
    /// `ping`
    Ping,
    /// `push`, with the size of each body in bytes.
    Push(Vec<usize>),
    /// `reserve`
    Reserve(ReserveRequest),
    /// `extend`
    Extend(Vec<Lease>),
    /// `settle`
    Settle(Vec<Settlement>),
    /// `maintain`
    Maintain,
}

impl Call {
    /// Which method it was.
    #[must_use]
    pub fn op(&self) -> Op {
        match self {
            Self::Ping => Op::Ping,
            Self::Push(_) => Op::Push,
            Self::Reserve(_) => Op::Reserve,
            Self::Extend(_) => Op::Extend,
            Self::Settle(_) => Op::Settle,
            Self::Maintain => Op::Maintain,
        }
    }
}

impl Spy {
    /// A spy on `inner` that has seen nothing yet.
    #[must_use]
    pub fn on(inner: Arc<dyn Driver>) -> Arc<Wrapped<Self>> {
        Arc::new(Wrapped(Self {
            inner,
            calls: Mutex::default(),
        }))
    }

    /// Everything seen so far.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.seen().clone()
    }

    /// How many calls of one kind were seen.
    #[must_use]
    pub fn count(&self, op: Op) -> usize {
        self.seen().iter().filter(|call| call.op() == op).count()
    }

    /// How many jobs were to be acked.
    #[must_use]
    pub fn acks(&self) -> usize {
        let is_ack = |settlement: &&Settlement| settlement.verdict == Verdict::Ack;
        self.seen()
            .iter()
            .map(|call| match call {
                Call::Settle(settlements) => settlements.iter().filter(is_ack).count(),
                _ => 0,
            })
            .sum()
    }

    fn note(&self, call: Call) {
        self.seen().push(call);
    }

    fn seen(&self) -> MutexGuard<'_, Vec<Call>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Around for Spy {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.inner
    }

    async fn ping(&self) -> Result<()> {
        self.note(Call::Ping);
        self.inner.ping().await
    }

    async fn push(&self, jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        self.note(Call::Push(jobs.iter().map(|job| job.body.len()).collect()));
        self.inner.push(jobs).await
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        self.note(Call::Reserve(request.clone()));
        self.inner.reserve(request).await
    }

    async fn extend(&self, leases: Vec<Lease>, by: Duration) -> Result<Vec<LeaseOutcome>> {
        self.note(Call::Extend(leases.clone()));
        self.inner.extend(leases, by).await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        self.note(Call::Settle(settlements.clone()));
        self.inner.settle(settlements).await
    }

    async fn maintain(&self, queues: &[QueueName]) -> Result<Maintenance> {
        self.note(Call::Maintain);
        self.inner.maintain(queues).await
    }
}
