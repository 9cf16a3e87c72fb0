use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use goqueue_core::{
    Result,
    driver::{Driver, LeaseOutcome, NewJob, PushOutcome, Settlement, Verdict},
};

use crate::wrap::{Around, Wrapped};

/// A mutant that rewrites verdicts.
macro_rules! rewrites_verdicts {
    ($(#[$doc:meta])* $name:ident: $rewrite:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(super) struct $name(Arc<dyn Driver>);

        impl $name {
            pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
                Arc::new(Wrapped(Self(inner)))
            }
        }

        #[async_trait]
        impl Around for $name {
            fn inner(&self) -> &Arc<dyn Driver> {
                &self.0
            }

            async fn settle(&self, mut settlements: Vec<Settlement>) -> Result<Vec<LeaseOutcome>> {
                let rewrite: fn(Verdict) -> Verdict = $rewrite;
                for settlement in &mut settlements {
                    settlement.verdict = rewrite(settlement.verdict.clone());
                }
                self.0.settle(settlements).await
            }
        }
    };
}
pub(super) use rewrites_verdicts;

rewrites_verdicts! {
    /// Takes a release for an ack.
    LosesReleased: |verdict| match verdict {
        Verdict::Release { .. } => Verdict::Ack,
        other => other,
    }
}

rewrites_verdicts! {
    /// Has no place for the dead.
    DropsTheDead: |verdict| match verdict {
        Verdict::Dead { .. } => Verdict::Ack,
        other => other,
    }
}

rewrites_verdicts! {
    /// Does not keep why a job failed.
    ForgetsTheError: |verdict| match verdict {
        Verdict::Retry { delay, .. } => Verdict::Retry { delay, error: String::new() },
        other => other,
    }
}

/// Drops every hundredth job and says that it is stored.
#[derive(Debug)]
pub(super) struct StoresNotEvery {
    inner: Arc<dyn Driver>,
    count: AtomicUsize,
}

impl StoresNotEvery {
    pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
        Arc::new(Wrapped(Self {
            inner,
            count: AtomicUsize::new(0),
        }))
    }
}

#[async_trait]
impl Around for StoresNotEvery {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.inner
    }

    async fn push(&self, jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        let mut outcomes = Vec::with_capacity(jobs.len());
        for job in jobs {
            if self.count.fetch_add(1, Ordering::Relaxed) % 100 == 99 {
                outcomes.push(PushOutcome::Stored);
            } else {
                outcomes.extend(self.inner.push(vec![job]).await?);
            }
        }
        Ok(outcomes)
    }
}

/// Takes a zero byte for the end of a body.
#[derive(Debug)]
pub(super) struct ShortensBodies(Arc<dyn Driver>);

impl ShortensBodies {
    pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
        Arc::new(Wrapped(Self(inner)))
    }
}

#[async_trait]
impl Around for ShortensBodies {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.0
    }

    async fn push(&self, mut jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        for job in &mut jobs {
            let end = job
                .body
                .iter()
                .position(|byte| *byte == 0)
                .unwrap_or(job.body.len());
            job.body.truncate(end);
        }
        self.0.push(jobs).await
    }
}
