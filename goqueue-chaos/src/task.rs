//! The one job type of a run: it does as its payload says, and writes down that it did.

use std::time::Duration;

use goqueue::prelude::*;
use serde::{Deserialize, Serialize};

use crate::ledger::{Event, Ledger};

/// The queues that jobs go to.
pub const QUEUES: [&str; 2] = ["chaos-one", "chaos-two"];

/// A job of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Tells it from every other job of the run.
    pub label: String,
    /// How its handler answers.
    pub ending: Ending,
    /// How long its handler takes.
    pub millis: u64,
    /// Makes it larger.
    pub padding: String,
}

/// How a handler answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// With success.
    Succeed,
    /// With an error in the first so many attempts.
    FailFirst(u32),
    /// With an error in every attempt.
    Fail,
    /// With an error that no retry can mend.
    Permanent,
}

impl Ending {
    /// The error in this attempt, and whether it is for good.
    #[must_use]
    pub fn error(self, attempt: u32) -> Option<(String, bool)> {
        let is_permanent = self == Ending::Permanent;
        let fails = match self {
            Ending::Succeed => false,
            Ending::FailFirst(times) => attempt <= times,
            Ending::Fail | Ending::Permanent => true,
        };
        fails.then(|| (format!("failed in attempt {attempt}"), is_permanent))
    }
}

impl Job for Task {
    const NAME: &'static str = "chaos.task";
    const QUEUE: &'static str = QUEUES[0];
}

impl Handler for Task {
    async fn handle(self, cx: JobContext) -> JobResult {
        let (ledger, attempt) = (cx.state::<Ledger>()?, cx.attempt());
        ledger.note(Event::Start {
            label: self.label.clone(),
            id: cx.id().to_string(),
            attempt,
        });
        tokio::time::sleep(Duration::from_millis(self.millis)).await;
        let error = self.ending.error(attempt);
        ledger.note(Event::End {
            label: self.label,
            attempt,
            succeeded: error.is_none(),
        });
        match error {
            None => Ok(()),
            Some((error, true)) => Err(JobError::permanent(error)),
            Some((error, false)) => Err(error.into()),
        }
    }
}
