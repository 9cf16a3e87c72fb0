//! Lone jobs that are pushed at the same time travel together.
//!
//! A job goes at once unless two calls of its queue are under way: one for the server to work on, and
//! one on the line. Those that come then gather, and go as one call when one of the two is answered.
//! A caller that is alone never waits, and many share the server's time.

use std::{
    collections::HashMap,
    fmt, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use goqueue_core::{
    Error, QueueName,
    driver::{NewJob, PushOutcome},
};
use tokio::{runtime::Handle, sync::oneshot, task::yield_now};

use crate::{
    connection::Failed,
    driver::{BATCH, Inner},
    error::{Operation, unexpected},
};

pub(crate) type Outcome = Result<PushOutcome, Failed>;

/// Calls of one queue that are under way at once.
const UNDER_WAY: usize = 2;

/// The jobs of each queue that are gathering.
pub(crate) struct Groups {
    queues: Mutex<HashMap<QueueName, Arc<Group>>>,
    runtime: Handle,
}

#[derive(Default)]
struct Group(Mutex<State>);

#[derive(Default)]
struct State {
    under_way: usize,
    waiting: Vec<Waiting>,
}

struct Waiting {
    job: NewJob,
    tell: oneshot::Sender<Outcome>,
}

enum Turn {
    Lead(Box<NewJob>),
    Wait(oneshot::Receiver<Outcome>),
}

impl Groups {
    /// Calls run on the runtime that this is called on.
    pub(crate) fn new() -> Self {
        Self {
            queues: Mutex::default(),
            runtime: Handle::current(),
        }
    }

    fn of(&self, queue: &QueueName) -> Arc<Group> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        match queues.get(queue) {
            Some(group) => Arc::clone(group),
            None => Arc::clone(queues.entry(queue.clone()).or_default()),
        }
    }
}

impl fmt::Debug for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Groups").finish_non_exhaustive()
    }
}

impl Group {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, job: NewJob) -> Turn {
        let mut state = self.state();
        if state.under_way == UNDER_WAY {
            let (tell, told) = oneshot::channel();
            state.waiting.push(Waiting { job, tell });
            return Turn::Wait(told);
        }
        state.under_way += 1;
        Turn::Lead(Box::new(job))
    }

    /// As many of those that wait as one call takes. With none left, a call less is under way.
    fn gathered(&self) -> Vec<Waiting> {
        let mut state = self.state();
        // Whoever has stopped waiting was told that it failed.
        state.waiting.retain(|waiting| !waiting.tell.is_closed());
        let (mut bytes, mut count) = (0, 0);
        for waiting in state.waiting.iter().take(BATCH.jobs) {
            bytes += waiting.job.body.len();
            if count > 0 && bytes > BATCH.bytes {
                break;
            }
            count += 1;
        }
        state.under_way -= usize::from(count == 0);
        let rest = state.waiting.split_off(count);
        mem::replace(&mut state.waiting, rest)
    }
}

impl Inner {
    /// Stores one job, together with others if there are any.
    pub(crate) async fn push_one(self: &Arc<Self>, job: NewJob) -> Outcome {
        let group = self.groups.of(&job.queue);
        match group.join(job) {
            Turn::Lead(job) => {
                let _lead = Lead { inner: self, group };
                if let Some(recipient) = self.waiters.recipient(&job) {
                    return self.push_for(*job, recipient).await;
                }
                let outcomes = self.push_to(&job.queue, &[&job]).await?;
                outcomes.into_iter().next().ok_or_else(unanswered)
            }
            Turn::Wait(told) => told.await.unwrap_or_else(|_| Err(unanswered())),
        }
    }

    async fn push_gathered(&self, group: &Group) {
        loop {
            // Those who were just answered may have more: let them join.
            yield_now().await;
            let gathered = group.gathered();
            let Some(queue) = gathered.first().map(|waiting| waiting.job.queue.clone()) else {
                return;
            };
            let jobs: Vec<&NewJob> = gathered.iter().map(|waiting| &waiting.job).collect();
            match self.push_to(&queue, &jobs).await {
                Ok(outcomes) => {
                    // Whoever does not listen any more has given up on the answer.
                    for (waiting, outcome) in gathered.into_iter().zip(outcomes) {
                        let _ = waiting.tell.send(Ok(outcome));
                    }
                }
                Err(Failed { error, is_undone }) => {
                    let error = Arc::new(error);
                    for waiting in gathered {
                        let error = Error::Batch(Arc::clone(&error));
                        let _ = waiting.tell.send(Err(Failed { error, is_undone }));
                    }
                }
            }
        }
    }
}

pub(crate) fn unanswered() -> Failed {
    Failed::undecided(unexpected(Operation::Push))
}

/// Being the one whose call is under way. However that ends, those who gathered are seen to.
struct Lead<'a> {
    inner: &'a Arc<Inner>,
    group: Arc<Group>,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut state = self.group.state();
        if state.waiting.is_empty() {
            state.under_way -= 1;
            return;
        }
        drop(state);
        let (inner, group) = (Arc::clone(self.inner), Arc::clone(&self.group));
        self.inner
            .groups
            .runtime
            .spawn(async move { inner.push_gathered(&group).await });
    }
}
