use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use goqueue_core::JobContext;
use tokio::time::Instant;

use super::circuit::{Admission, Change, Circuit, Rule, Sign};

/// The circuits of all keys. One that is closed without failures is not kept.
#[derive(Clone, Debug)]
pub(super) struct Circuits(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    rule: Rule,
    by_key: Mutex<HashMap<String, Circuit>>,
}

/// A run whose end the circuit has to learn, whatever way it ends.
pub(super) struct Watch {
    circuits: Circuits,
    key: String,
    is_trial: bool,
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
        let admission = match self.lock().get_mut(key) {
            Some(circuit) => circuit.admit(Instant::now(), &self.0.rule),
            None => Admission::Run,
        };
        let is_trial = match admission {
            Admission::Run => false,
            Admission::Try => true,
            Admission::Wait(wait) => return Err(wait),
        };
        Ok(Watch {
            circuits: self.clone(),
            key: key.to_owned(),
            is_trial,
            context: context.clone(),
            is_told: false,
        })
    }

    fn saw(&self, key: &str, sign: Sign, is_trial: bool) {
        let mut circuits = self.lock();
        let known = circuits.get_mut(key);
        let change = match (known, sign) {
            (Some(circuit), _) => circuit.saw(sign, is_trial, Instant::now(), &self.0.rule),
            (None, Sign::Bad) => {
                let mut circuit = Circuit::Closed { failures: 0 };
                let change = circuit.saw(sign, is_trial, Instant::now(), &self.0.rule);
                circuits.insert(key.to_owned(), circuit);
                change
            }
            (None, Sign::Good | Sign::None) => Change::None,
        };
        if circuits.get(key) == Some(&Circuit::Closed { failures: 0 }) {
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

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Circuit>> {
        self.0.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    pub(super) fn saw(mut self, sign: Sign) {
        self.is_told = true;
        self.circuits.saw(&self.key, sign, self.is_trial);
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
        self.circuits.saw(&self.key, sign, self.is_trial);
    }
}
