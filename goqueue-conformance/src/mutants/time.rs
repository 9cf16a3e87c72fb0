use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use goqueue_core::{
    Result,
    driver::{
        Driver, LeaseOutcome, NewJob, PushOutcome, ReserveRequest, Reserved, Settlement, Verdict,
    },
};
use tokio_util::sync::CancellationToken;

use super::loss::rewrites_verdicts;
use crate::wrap::{Around, Wrapped};

rewrites_verdicts! {
    /// Has no place for jobs that wait for a retry.
    RetriesAtOnce: |verdict| match verdict {
        Verdict::Retry { error, .. } => Verdict::Retry { delay: Duration::ZERO, error },
        other => other,
    }
}

rewrites_verdicts! {
    /// Triples the delay of a release, and of nothing else.
    ReleasesLate: |verdict| match verdict {
        Verdict::Release { delay } if !delay.is_zero() => Verdict::Release { delay: delay * 3 },
        other => other,
    }
}

/// A mutant that rewrites delays at the push.
macro_rules! rewrites_delays {
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

            async fn push(&self, mut jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
                let rewrite: fn(Duration) -> Duration = $rewrite;
                for job in &mut jobs {
                    job.delay = rewrite(job.delay);
                }
                self.0.push(jobs).await
            }
        }
    };
}

rewrites_delays! {
    /// Is a tenth too early.
    ShowsEarly: |delay| delay * 9 / 10
}

rewrites_delays! {
    /// Counts in whole hundredths of a second, and forgets the rest.
    RoundsDown: |delay| Duration::from_millis(delay.as_millis() as u64 / 10 * 10)
}

/// A mutant that rewrites reservations.
macro_rules! rewrites_requests {
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

            async fn reserve(&self, request: ReserveRequest) -> Result<Vec<Reserved>> {
                let rewrite: fn(ReserveRequest) -> ReserveRequest = $rewrite;
                self.0.reserve(rewrite(request)).await
            }
        }
    };
}
pub(super) use rewrites_requests;

rewrites_requests! {
    /// Polls instead of waiting.
    PollsInAHurry: |request| {
        ReserveRequest { wait: request.wait.min(Duration::from_millis(100)), ..request }
    }
}

rewrites_requests! {
    /// Waits to the end, whoever cancels.
    WaitsToTheEnd: |request| ReserveRequest { cancel: CancellationToken::new(), ..request }
}
