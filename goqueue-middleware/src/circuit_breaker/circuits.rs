use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use goqueue_core::JobContext;
use tokio::time::Instant;

use super::circuit::{Admission, Change, Circuit, Rule, Sign};

/// The circuits of all keys. One that is closed without failures, and that no run has yet to report
/// to, is not kept.
#[derive(Clone, Debug)]
pub(super) struct Circuits(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    rule: Rule,
    by_key: Mutex<HashMap<String, Known>>,
}

#[derive(Debug, Default)]
struct Known {
    circuit: Circuit,
    /// Runs that have not ended.
    runs: usize,
    /// How often it has opened. A run that began before the last time says nothing about now.
    opened: u64,
}

/// A run whose end the circuit has to learn, whatever way it ends.
pub(super) struct Watch {
    circuits: Circuits,
    key: String,
    opened: u64,
    context: JobContext,
    is_told: bool,
}

impl Circuits {
    pub(super) fn new(rule: Rule) -> Self {
        Self(Arc::new(Inner {
            rule,
            by_key: Mutex::default(),
        }))
    }

    /// Answers how long to stay away when the job may not run.
    pub(super) fn admit(&self, key: &str, context: &JobContext) -> Result<Watch, Duration> {
        let mut circuits = self.lock();
        let known = circuits.entry(key.to_owned()).or_default();
        if let Admission::Wait(wait) = known.circuit.admit(Instant::now(), &self.0.rule) {
            return Err(wait);
        }
        known.runs += 1;
        Ok(Watch {
            circuits: self.clone(),
            key: key.to_owned(),
            opened: known.opened,
            context: context.clone(),
            is_told: false,
        })
    }

    fn saw(&self, key: &str, opened: u64, sign: Sign) {
        let mut circuits = self.lock();
        let Some(known) = circuits.get_mut(key) else {
            return;
        };
        known.runs -= 1;
        let change = if known.opened == opened {
            known.circuit.saw(sign, Instant::now(), &self.0.rule)
        } else {
            Change::None
        };
        known.opened += u64::from(change == Change::Opened);
        if known.runs == 0 && known.circuit == Circuit::default() {
            circuits.remove(key);
        }
        drop(circuits);
        match change {
            Change::Opened => {
                let open_for = self.0.rule.open_for;
                tracing::warn!(key, ?open_for, "circuit opened: its jobs wait");
            }
            Change::Closed => tracing::info!(key, "circuit closed: its jobs run again"),
            Change::None => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.0.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    pub(super) fn saw(mut self, sign: Sign) {
        self.is_told = true;
        self.circuits.saw(&self.key, self.opened, sign);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.is_told {
            return;
        }
        // It panicked or met its timeout, which is a failure; a run that was told to stop says
        // nothing.
        let sign = if self.context.is_cancelled() {
            Sign::None
        } else {
            Sign::Bad
        };
        self.circuits.saw(&self.key, self.opened, sign);
    }
}
