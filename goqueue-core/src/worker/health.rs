use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Whether a worker can reach its backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthStatus {
    /// No call was answered yet.
    Starting,
    /// The last call was answered.
    Healthy,
    /// The last call failed; the worker keeps trying.
    Unhealthy,
}

/// A worker's view of its backend.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Health {
    /// How it stands.
    pub status: HealthStatus,
    /// For how long it has stood so.
    pub since: Duration,
    /// What the last failure said; kept after recovery.
    pub last_error: Option<String>,
}

#[derive(Debug)]
pub(super) struct HealthCell(Mutex<State>);

#[derive(Debug)]
struct State {
    status: HealthStatus,
    changed: Instant,
    last_error: Option<String>,
}

impl HealthCell {
    pub(super) fn new() -> Self {
        let (status, changed) = (HealthStatus::Starting, Instant::now());
        Self(Mutex::new(State {
            status,
            changed,
            last_error: None,
        }))
    }

    pub(super) fn good(&self) {
        if self.change(HealthStatus::Healthy, None) == HealthStatus::Unhealthy {
            tracing::info!("the backend answers again");
        }
    }

    pub(super) fn bad(&self, error: &crate::Error) {
        if self.change(HealthStatus::Unhealthy, Some(error)) != HealthStatus::Unhealthy {
            tracing::warn!(%error, "the backend does not answer; trying again with backoff");
        }
    }

    /// Answers the status before.
    fn change(&self, to: HealthStatus, error: Option<&crate::Error>) -> HealthStatus {
        let mut state = self.lock();
        if let Some(error) = error {
            state.last_error = Some(error.to_string());
        }
        let before = state.status;
        if before != to {
            state.status = to;
            state.changed = Instant::now();
        }
        before
    }

    pub(super) fn read(&self) -> Health {
        let state = self.lock();
        Health {
            status: state.status,
            since: state.changed.elapsed(),
            last_error: state.last_error.clone(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
