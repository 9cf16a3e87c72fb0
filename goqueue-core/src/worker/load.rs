use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// How long the past counts: what is older than this weighs a third, twice as old a ninth.
const MEMORY: Duration = Duration::from_secs(10);

/// The share of the time that a worker had no room or no rest.
#[derive(Debug)]
pub(super) struct LoadCell(Mutex<State>);

#[derive(Debug)]
struct State {
    share: f64,
    /// What the time since `since` counts as.
    is_full: bool,
    since: Instant,
}

impl LoadCell {
    pub(super) fn new() -> Self {
        Self(Mutex::new(State {
            share: 0.0,
            is_full: false,
            since: Instant::now(),
        }))
    }

    /// From now on every slot is taken, or not.
    pub(super) fn now(&self, is_full: bool) {
        let mut state = self.lock();
        let was_full = state.is_full;
        state.account(was_full);
        state.is_full = is_full;
    }

    /// From now on every slot is taken, and since the last call the worker was busy as well: it was
    /// taking jobs from a backlog.
    pub(super) fn was_full(&self) {
        let mut state = self.lock();
        state.account(true);
        state.is_full = true;
    }

    pub(super) fn share(&self) -> f64 {
        let state = self.lock();
        state.share_now(state.is_full)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn account(&mut self, is_full: bool) {
        self.share = self.share_now(is_full);
        self.since = Instant::now();
    }

    fn share_now(&self, is_full: bool) -> f64 {
        let kept = (-self.since.elapsed().as_secs_f64() / MEMORY.as_secs_f64()).exp();
        let now = if is_full { 1.0 } else { 0.0 };
        self.share * kept + now * (1.0 - kept)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    async fn pass(seconds: u64) {
        advance(Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn full_time_raises_the_share_and_idle_time_lowers_it() {
        let load = LoadCell::new();
        pass(60).await;
        assert_eq!(load.share(), 0.0);
        load.now(true);
        pass(10).await;
        // Read while it lasts, without a change in between.
        assert!((load.share() - 0.632).abs() < 0.001, "{}", load.share());
        pass(30).await;
        assert!(load.share() > 0.98);
        load.now(false);
        pass(10).await;
        assert!((load.share() - 0.361).abs() < 0.001, "{}", load.share());
    }

    #[tokio::test(start_paused = true)]
    async fn half_of_the_time_is_half() {
        let load = LoadCell::new();
        for _ in 0..200 {
            load.now(true);
            advance(Duration::from_millis(500)).await;
            load.now(false);
            advance(Duration::from_millis(500)).await;
        }
        assert!((load.share() - 0.5).abs() < 0.03, "{}", load.share());
    }

    #[tokio::test(start_paused = true)]
    async fn time_can_be_counted_as_full_afterwards() {
        let load = LoadCell::new();
        pass(10).await;
        load.was_full();
        assert!((load.share() - 0.632).abs() < 0.001, "{}", load.share());
    }
}
