use std::{fmt, sync::Arc};

use async_trait::async_trait;
use goqueue_core::{
    Result,
    driver::{Driver, NewJob, PushOutcome},
};

use crate::wrap::{Around, Wrapped};

/// What no mutant but one shows.
pub(super) const PASSWORD: &str = "swordfish";

/// Hopes for the best.
#[derive(Debug)]
pub(super) struct AlwaysStored(Arc<dyn Driver>);

impl AlwaysStored {
    pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
        Arc::new(Wrapped(Self(inner)))
    }
}

#[async_trait]
impl Around for AlwaysStored {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.0
    }

    async fn push(&self, jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        let stored = jobs.iter().map(|_| PushOutcome::Stored).collect();
        Ok(self.0.push(jobs).await.unwrap_or(stored))
    }
}

/// Derives `Debug` over its settings.
pub(super) struct ShowsItsPassword(Arc<dyn Driver>);

impl ShowsItsPassword {
    pub(super) fn around(inner: Arc<dyn Driver>) -> Arc<dyn Driver> {
        Arc::new(Wrapped(Self(inner)))
    }
}

impl fmt::Debug for ShowsItsPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("password", &PASSWORD)
            .finish()
    }
}

impl Around for ShowsItsPassword {
    fn inner(&self) -> &Arc<dyn Driver> {
        &self.0
    }
}
