use std::{sync::mpsc, time::Duration};

use goqueue_core::{Handler, Job, JobContext, JobError, JobResult};
use serde::{Deserialize, Serialize};

use super::{QUEUE, records::Records};

/// The job of the cases: it does what its payload says, run by run, and notes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Probe {
    pub(crate) tag: String,
    /// What each run does; the last one goes for all that follow.
    pub(crate) acts: Vec<Act>,
}

/// What one run does. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Act {
    Succeed,
    Fail(String),
    FailFor {
        millis: u64,
        error: String,
    },
    Permanent(String),
    Snooze {
        millis: u64,
    },
    Discard(String),
    Panic(String),
    Work {
        millis: u64,
    },
    /// Works until it is told to stop, and then fails.
    UntilCancelled,
    /// Works until it is told to stop, and then calls it done.
    DoneWhenCancelled,
    /// Works for ever and never listens.
    Endless,
    /// Blocks its thread, then works on.
    Block {
        millis: u64,
    },
    /// Says on the standard output that it runs, then works for ever.
    Announce,
    /// Says on the standard output that it runs, then works for a while.
    AnnounceAndWork {
        millis: u64,
    },
}

impl Probe {
    pub(crate) fn new(tag: impl Into<String>, acts: impl Into<Vec<Act>>) -> Self {
        Self {
            tag: tag.into(),
            acts: acts.into(),
        }
    }

    pub(crate) fn succeeding(tag: impl Into<String>) -> Self {
        Self::new(tag, [Act::Succeed])
    }

    pub(crate) fn failing(tag: impl Into<String>) -> Self {
        Self::new(tag, [Act::Fail("it never works".into())])
    }

    pub(crate) fn working(tag: impl Into<String>, time: Duration) -> Self {
        Self::new(tag, [Act::work(time)])
    }
}

impl Act {
    pub(crate) fn work(time: Duration) -> Self {
        Self::Work {
            millis: millis(time),
        }
    }

    pub(crate) fn snooze(time: Duration) -> Self {
        Self::Snooze {
            millis: millis(time),
        }
    }
}

fn millis(time: Duration) -> u64 {
    time.as_millis()
        .try_into()
        .expect("the times of a case are short")
}

impl Job for Probe {
    const NAME: &'static str = "conformance.probe";
    const QUEUE: &'static str = QUEUE;
}

impl Handler for Probe {
    async fn handle(self, cx: JobContext) -> JobResult {
        let run = cx.state::<Records>()?.start(&self.tag, &cx);
        let act = self
            .acts
            .get(run.nth())
            .or(self.acts.last())
            .cloned()
            .unwrap_or(Act::Succeed);
        let answer = perform(act, &self.tag, &cx).await;
        run.end(cx.is_cancelled());
        answer
    }
}

async fn perform(act: Act, tag: &str, cx: &JobContext) -> JobResult {
    match act {
        Act::Succeed => Ok(()),
        Act::Fail(error) => Err(error.into()),
        Act::FailFor { millis, error } => {
            Err(JobError::retry_in(Duration::from_millis(millis), error))
        }
        Act::Permanent(error) => Err(JobError::permanent(error)),
        Act::Snooze { millis } => Err(JobError::snooze(Duration::from_millis(millis))),
        Act::Discard(reason) => Err(JobError::discard(reason)),
        Act::Panic(text) => panic!("{text}"),
        Act::Work { millis } => {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            Ok(())
        }
        Act::UntilCancelled => {
            cx.cancelled().await;
            Err("told to stop".into())
        }
        Act::DoneWhenCancelled => {
            cx.cancelled().await;
            Ok(())
        }
        Act::Endless => std::future::pending().await,
        Act::Block { millis } => {
            block(Duration::from_millis(millis));
            tokio::time::sleep(Duration::from_millis(millis)).await;
            Ok(())
        }
        Act::Announce => {
            crate::process::say(&format!("running {tag} {}", cx.attempt()));
            std::future::pending().await
        }
        Act::AnnounceAndWork { millis } => {
            crate::process::say(&format!("running {tag} {}", cx.attempt()));
            tokio::time::sleep(Duration::from_millis(millis)).await;
            Ok(())
        }
    }
}

/// Holds the thread up, as a handler that computes does.
fn block(time: Duration) {
    let (_sender, receiver) = mpsc::channel::<()>();
    let _ = receiver.recv_timeout(time);
}
