use std::time::Duration;

use tokio::time::Instant;

/// When a circuit opens, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) failures: u32,
    pub(super) open_for: Duration,
}

/// One key's circuit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Circuit {
    /// Jobs run. So many failed in a row.
    Closed { failures: u32 },
    /// No job runs until then.
    Open { until: Instant },
    /// One job runs, to see whether the others may.
    Trial,
}

impl Default for Circuit {
    fn default() -> Self {
        Self::Closed { failures: 0 }
    }
}

/// Whether a job may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Run,
    /// Not before this long from now.
    Wait(Duration),
}

/// What a run says about the thing it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Good,
    Bad,
    None,
}

/// What a sign changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Opened,
    Closed,
    None,
}

impl Circuit {
    pub(super) fn admit(&mut self, now: Instant, rule: &Rule) -> Admission {
        match *self {
            Circuit::Closed { .. } => Admission::Run,
            Circuit::Open { until } if now < until => Admission::Wait(until - now),
            Circuit::Open { .. } => {
                *self = Circuit::Trial;
                Admission::Run
            }
            Circuit::Trial => Admission::Wait((rule.open_for / 10).max(Duration::from_millis(100))),
        }
    }

    /// Takes down how a run ended that began after the circuit last opened.
    pub(super) fn saw(&mut self, sign: Sign, now: Instant, rule: &Rule) -> Change {
        match (&mut *self, sign) {
            (Circuit::Trial, Sign::Good) => {
                *self = Circuit::Closed { failures: 0 };
                Change::Closed
            }
            (Circuit::Trial, Sign::Bad) => {
                let until = now + rule.open_for;
                *self = Circuit::Open { until };
                Change::Opened
            }
            (Circuit::Trial, Sign::None) => {
                // The next job is the trial.
                *self = Circuit::Open { until: now };
                Change::None
            }
            (Circuit::Closed { failures }, Sign::Good) => {
                *failures = 0;
                Change::None
            }
            (Circuit::Closed { failures }, Sign::Bad) => {
                *failures += 1;
                if *failures < rule.failures {
                    return Change::None;
                }
                let until = now + rule.open_for;
                *self = Circuit::Open { until };
                Change::Opened
            }
            _ => Change::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule {
        failures: 2,
        open_for: Duration::from_secs(10),
    };
    const SECOND: Duration = Duration::from_secs(1);

    fn opened(now: Instant) -> Circuit {
        let mut circuit = Circuit::Closed { failures: 0 };
        assert_eq!(circuit.saw(Sign::Bad, now, &RULE), Change::None);
        assert_eq!(circuit.saw(Sign::Bad, now, &RULE), Change::Opened);
        circuit
    }

    #[test]
    fn a_success_in_between_keeps_it_closed() {
        let (mut circuit, now) = (Circuit::Closed { failures: 0 }, Instant::now());
        for sign in [Sign::Bad, Sign::Good, Sign::Bad, Sign::None] {
            assert_eq!(circuit.saw(sign, now, &RULE), Change::None);
            assert_eq!(circuit.admit(now, &RULE), Admission::Run);
        }
        assert_eq!(circuit.saw(Sign::Bad, now, &RULE), Change::Opened);
    }

    #[test]
    fn one_trial_decides() {
        let now = Instant::now();
        for (sign, change, then) in [
            (Sign::Good, Change::Closed, Admission::Run),
            (Sign::Bad, Change::Opened, Admission::Wait(10 * SECOND)),
            (Sign::None, Change::None, Admission::Run),
        ] {
            let mut circuit = opened(now);
            let late = now + 4 * SECOND;
            assert_eq!(circuit.admit(late, &RULE), Admission::Wait(6 * SECOND));
            let due = now + 10 * SECOND;
            assert_eq!(circuit.admit(due, &RULE), Admission::Run);
            assert_eq!(circuit.admit(due, &RULE), Admission::Wait(SECOND));
            assert_eq!(circuit.saw(sign, due, &RULE), change);
            assert_eq!(circuit.admit(due, &RULE), then);
        }
    }
}
