//! Dead letters made jobs again, or deleted.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use goqueue_core::{Error, JobId, QueueName, Result, driver::Selection};

use crate::{
    attributes::{DEDUP, job_message, text},
    batch::Entry,
    driver::{Inner, NAME},
    held::Held,
    inspect::INSPECT,
    keys,
    letters::{Hidden, Seen},
    limits::size,
    push::{Outgoing, outgoing},
    queues::SqsQueue,
};

/// What is done with the letters of one call.
#[derive(Default)]
struct Plan {
    chosen: Vec<Arc<Held>>,
    twins: Vec<Arc<Held>>,
    others: Vec<Seen>,
}

/// What a sweep has come across.
struct Course<'a> {
    wanted: Option<HashSet<&'a JobId>>,
    is_retry: bool,
    /// Jobs whose letter was taken, each with the latest time that the service had stamped on a
    /// message by then.
    done: HashMap<JobId, u64>,
    latest: u64,
    left: HashSet<String>,
}

impl<'a> Course<'a> {
    fn new(which: &'a Selection, is_retry: bool) -> Self {
        Self {
            wanted: match which {
                Selection::All => None,
                Selection::Ids(ids) => Some(ids.iter().collect()),
            },
            is_retry,
            done: HashMap::new(),
            latest: 0,
            left: HashSet::new(),
        }
    }

    /// Sorts what one call has brought. A second letter of a job, which a lost answer can leave
    /// behind, goes with the first. But a job that was made ready and has died again has a new letter,
    /// which is its only one: it stays, and so does what cannot be told from it.
    fn plan(&mut self, letters: Vec<Seen>) -> Plan {
        let sent = letters.iter().map(|letter| letter.held.sent).max();
        self.latest = self.latest.max(sent.unwrap_or(0));
        let mut plan = Plan::default();
        for letter in letters {
            let (id, held) = (letter.info.id, &letter.held);
            let is_wanted = self.wanted.as_ref().is_none_or(|ids| ids.contains(&id));
            let first = self.done.get(&id);
            match first {
                _ if !is_wanted => plan.others.push(letter),
                None => {
                    self.done.insert(id, self.latest);
                    plan.chosen.push(letter.held);
                }
                Some(by_then) if !self.is_retry || held.sent <= *by_then => {
                    plan.twins.push(letter.held);
                }
                Some(_) => plan.others.push(letter),
            }
        }
        plan
    }

    /// Takes down what stays, and tells whether some of it has come before: what was hidden first is
    /// visible again, so the sweep has been everywhere.
    fn has_come_round<'b>(&mut self, others: impl Iterator<Item = &'b str>) -> bool {
        let mut has_come = false;
        for message_id in others {
            has_come |= !self.left.insert(message_id.to_owned());
        }
        has_come
    }
}

impl Inner {
    pub(crate) async fn requeue_dead(
        self: &Arc<Self>,
        queue: &QueueName,
        which: &Selection,
    ) -> Result<u64> {
        let Some(dead) = self.existing_dead(queue).await? else {
            return Ok(0);
        };
        let jobs = self.jobs_of(queue, INSPECT).await?;
        self.steer(&dead, which, Some(&jobs)).await
    }

    pub(crate) async fn delete_dead(
        self: &Arc<Self>,
        queue: &QueueName,
        which: &Selection,
    ) -> Result<u64> {
        match self.existing_dead(queue).await? {
            Some(dead) => self.steer(&dead, which, None).await,
            None => Ok(0),
        }
    }

    /// Makes letters jobs of a queue, or deletes them where there is none, ten at a time.
    async fn steer(
        self: &Arc<Self>,
        dead: &Arc<SqsQueue>,
        which: &Selection,
        jobs: Option<&Arc<SqsQueue>>,
    ) -> Result<u64> {
        let expected = self.visible(dead).await?;
        let mut sweep = self.sweep(dead, expected);
        let mut course = Course::new(which, jobs.is_some());
        let mut others = Hidden::none(self);
        let answer = loop {
            let letters = match sweep.next().await {
                Ok(letters) if letters.is_empty() => break Ok(()),
                Ok(letters) => letters,
                Err(fault) => break Err(fault.into()),
            };
            let plan = course.plan(letters);
            let is_round = course.has_come_round(plan.others.iter().map(Seen::message_id));
            others.letters.extend(plan.others);
            let (inner, jobs) = (Arc::clone(self), jobs.cloned());
            // A caller that gives up must not leave a job and its letter behind.
            let acted = self
                .polls
                .spawn(async move { inner.act(jobs, plan.chosen, plan.twins).await });
            match acted.await {
                Ok(Ok(())) if is_round => break Ok(()),
                Ok(Ok(())) => {}
                Ok(Err(error)) => break Err(error),
                Err(_) => break Err(Error::Closed { driver: NAME }),
            }
        };
        others.show().await;
        answer.map(|()| course.done.len() as u64)
    }

    async fn act(
        &self,
        jobs: Option<Arc<SqsQueue>>,
        chosen: Vec<Arc<Held>>,
        twins: Vec<Arc<Held>>,
    ) -> Result<()> {
        match jobs {
            Some(jobs) => self.requeue(&jobs, chosen).await?,
            None => self.remove(chosen).await?,
        }
        self.remove(twins).await
    }

    async fn requeue(&self, jobs: &Arc<SqsQueue>, letters: Vec<Arc<Held>>) -> Result<()> {
        let mut messages = Vec::with_capacity(letters.len());
        for (place, letter) in letters.into_iter().enumerate() {
            let message = self.again(jobs, &letter, place)?;
            messages.push((letter, message));
        }
        for (_, answer) in self.move_to(jobs, messages, INSPECT).await {
            answer?;
        }
        Ok(())
    }

    async fn remove(&self, letters: Vec<Arc<Held>>) -> Result<()> {
        let letters = letters.into_iter().enumerate().collect();
        for (_, answer) in self.delete_all(letters, INSPECT).await {
            answer?;
        }
        Ok(())
    }

    /// The message that makes a letter a job again, with no attempt spent.
    fn again(&self, jobs: &SqsQueue, letter: &Held, place: usize) -> Result<Entry<Outgoing>> {
        let dedup = letter.dedup.as_deref().and_then(|dedup| text(DEDUP, dedup));
        let limit = jobs.max_message;
        let (body, attributes) =
            job_message(letter.id, &letter.body, [dedup], &letter.foreign, limit)?;
        let size = size(&body, &attributes);
        let mut what = outgoing(body, attributes);
        if self.settings.names.is_fifo {
            what.message_group_id = letter.group.clone();
            what.message_deduplication_id = Some(keys::copy_of(letter.id, &letter.message_id));
        }
        Ok(Entry { place, size, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_and_comes_again_ends_the_round() {
        let mut course = Course::new(&Selection::All, true);
        assert!(!course.has_come_round(["a", "b"].into_iter()));
        assert!(!course.has_come_round([].into_iter()));
        assert!(!course.has_come_round(["c"].into_iter()));
        assert!(course.has_come_round(["d", "a"].into_iter()));
    }
}
