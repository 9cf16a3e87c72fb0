use std::{fmt, str::FromStr, sync::Arc};

use async_trait::async_trait;
use goqueue::{
    Queue, Result,
    driver::{
        Driver, LeaseOutcome, NewJob, PushOutcome, ReserveRequest, Reserved, Settlement, Verdict,
    },
};
use goqueue_conformance::wrap::{Around, Wrapped};

/// A fault of a driver, to see that the checker finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// Jobs are acked before they run.
    AckBeforeRun,
    /// A job is handed out twice under one lease.
    HandOutTwice,
    /// Deliveries are not counted.
    ForgetAttempts,
    /// The last error is not kept with the dead letter.
    ForgetErrors,
    /// Ordering keys are ignored.
    IgnoreOrder,
    /// Unique keys are ignored.
    IgnoreUnique,
}

const NAMES: [(Planted, &str); 6] = [
    (Planted::AckBeforeRun, "ack-before-run"),
    (Planted::HandOutTwice, "hand-out-twice"),
    (Planted::ForgetAttempts, "forget-attempts"),
    (Planted::ForgetErrors, "forget-errors"),
    (Planted::IgnoreOrder, "ignore-order"),
    (Planted::IgnoreUnique, "ignore-unique"),
];

impl Planted {
    pub(super) fn in_front_of(self, queue: &Queue) -> Queue {
        let inner = Arc::clone(queue.driver());
        Queue::new(Wrapped(Faulty { inner, fault: self })).with_config(queue.config().clone())
    }
}

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = NAMES.iter().find(|(fault, _)| fault == self);
        f.pad(known.map_or("", |(_, name)| name))
    }
}

impl FromStr for Planted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = NAMES.iter().find(|(_, name)| *name == text);
        known.map(|(fault, _)| *fault).ok_or_else(|| {
            let names: Vec<_> = NAMES.iter().map(|(_, name)| format!("`{name}`")).collect();
            format!("got `{text}`, allowed is {}", names.join(", "))
        })
    }
}

#[derive(Debug)]
struct Faulty {
    inner: Arc<dyn Driver>,
    fault: Planted,
}

#[async_trait]
impl Around for Faulty {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.inner
    }

    async fn push(&self, mut jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        for job in &mut jobs {
            match self.fault {
                Planted::IgnoreOrder => job.ordering_key = None,
                Planted::IgnoreUnique => job.unique = None,
                _ => {}
            }
        }
        self.inner.push(jobs).await
    }

    async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
        let max = request.max;
        let mut taken = self.inner.reserve(request).await?;
        match self.fault {
            Planted::AckBeforeRun => {
                let acks = taken.iter().map(|job| Settlement {
                    lease: job.lease.clone(),
                    verdict: Verdict::Ack,
                });
                self.inner.settle(acks.collect()).await?;
            }
            Planted::HandOutTwice => {
                let again: Vec<_> = taken.iter().take(max - taken.len()).cloned().collect();
                taken.extend(again);
            }
            Planted::ForgetAttempts => taken.iter_mut().for_each(|job| job.attempt = 1),
            _ => {}
        }
        Ok(taken)
    }

    async fn settle(&self, mut settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
        for settlement in &mut settlements {
            if let (Planted::ForgetErrors, Verdict::Dead { error, .. }) =
                (self.fault, &mut settlement.verdict)
            {
                error.clear();
            }
        }
        let count = settlements.len();
        let outcomes = self.inner.settle(settlements).await?;
        Ok(match self.fault {
            Planted::AckBeforeRun => vec![LeaseOutcome::Done; count],
            _ => outcomes,
        })
    }
}
