use std::{future::Future, sync::Arc, time::Duration};

use async_trait::async_trait;
use goqueue_core::{
    Error, QueueName, Result,
    driver::{
        Capabilities, Driver, Inspect, Lease, LeaseOutcome, Maintenance, NewJob, PushOutcome,
        ReserveRequest, Reserved, Settlement,
    },
};

use super::faults::{Fate, FaultControl, Op};

/// Any driver behind a line that fails, loses replies or is slow.
///
/// The administrative calls pass undisturbed, so that a case can look at the backend meanwhile.
#[derive(Debug)]
pub struct FaultyDriver {
    inner: Arc<dyn Driver>,
    control: FaultControl,
}

impl FaultyDriver {
    /// A line that works so far.
    #[must_use]
    pub fn new(inner: Arc<dyn Driver>) -> Self {
        Self {
            inner,
            control: FaultControl::new(),
        }
    }

    /// Steers the line.
    #[must_use]
    pub fn faults(&self) -> FaultControl {
        self.control.clone()
    }

    /// A call that is not polled never reaches the backend.
    async fn through<T>(&self, op: Op, call: impl Future<Output = Result<T>>) -> Result<T> {
        match self.control.slowness(op) {
            Duration::ZERO => {}
            Duration::MAX => std::future::pending().await,
            by => tokio::time::sleep(by).await,
        }
        match self.control.fate(op) {
            Fate::Fail => Err(self.failure(op, "no connection")),
            Fate::LoseReply => {
                // Whatever the backend says goes down with the connection.
                let _ = call.await;
                Err(self.failure(op, "connection lost before the reply"))
            }
            Fate::Pass => {
                let reply = call.await;
                if self.control.is_cut() {
                    return Err(self.failure(op, "connection lost before the reply"));
                }
                reply
            }
        }
    }

    fn failure(&self, op: Op, what: &'static str) -> Error {
        Error::Backend {
            driver: self.capabilities().driver,
            operation: op.as_str(),
            transient: true,
            source: what.into(),
        }
    }
}

#[async_trait]
impl Driver for FaultyDriver {
    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    async fn ping(&self) -> Result<()> {
        self.through(Op::Ping, self.inner.ping()).await
    }

    async fn push(&self, jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        self.through(Op::Push, self.inner.push(jobs)).await
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        // A wait that is under way ends with the line, but its call is never dropped: what it has
        // reserved by then is reserved, only the reply is lost.
        let cancel = request.cancel.child_token();
        let request = ReserveRequest {
            cancel: cancel.clone(),
            ..request
        };
        let hang_up = async {
            self.control.until_cut().await;
            cancel.cancel();
            std::future::pending().await
        };
        tokio::select! {
            reply = self.through(Op::Reserve, self.inner.reserve(request)) => reply,
            never = hang_up => never,
        }
    }

    async fn extend(&self, leases: Vec<Lease>, by: Duration) -> Result<Vec<LeaseOutcome>> {
        self.through(Op::Extend, self.inner.extend(leases, by))
            .await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        self.through(Op::Settle, self.inner.settle(settlements))
            .await
    }

    async fn maintain(&self, queues: &[QueueName]) -> Result<Maintenance> {
        self.through(Op::Maintain, self.inner.maintain(queues))
            .await
    }

    fn inspect(&self) -> Option<&dyn Inspect> {
        self.inner.inspect()
    }

    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}
