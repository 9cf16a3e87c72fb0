use async_trait::async_trait;
use goqueue_core::{
    JobId, QueueName, Result,
    driver::{
        DeadLetterInfo, Inspect, JobInfo, JobState, Page, PageRequest, QueueStats, Selection,
    },
};

use crate::{
    MemoryDriver,
    job::Job,
    listing::{Cursor, info_of_job, info_of_letter, limit_of, not_a_cursor},
    queue::{Common, QueueState},
    store::BOUND,
};

#[async_trait]
impl Inspect for MemoryDriver {
    async fn queues(&self) -> Result<Vec<QueueName>> {
        self.queues_now()
    }

    async fn stats(&self, queue: &QueueName) -> Result<QueueStats> {
        let stats = self.look_into(queue, |queue, common| queue.stats(common))?;
        Ok(stats.unwrap_or_default())
    }

    async fn peek(
        &self,
        queue: &QueueName,
        state: JobState,
        page: PageRequest,
    ) -> Result<Page<JobInfo>> {
        self.peek_now(queue, state, &page)
    }

    async fn dead_letters(
        &self,
        queue: &QueueName,
        page: PageRequest,
    ) -> Result<Page<DeadLetterInfo>> {
        self.dead_letters_now(queue, &page)
    }

    async fn dead_letter(&self, queue: &QueueName, id: JobId) -> Result<Option<DeadLetterInfo>> {
        self.call(|store| {
            let (queue, _) = store.find(queue)?;
            queue
                .dead
                .get(id)
                .map(|letter| info_of_letter(queue, id, letter))
        })
    }

    async fn requeue_dead(&self, queue: &QueueName, which: Selection) -> Result<u64> {
        self.for_letters(queue, which, |queue, common, id| {
            let Some(letter) = queue.admitted(id) else {
                return false;
            };
            let job = Job::new(id, letter.body, queue.index, letter.keys);
            queue.add(common, job, common.now);
            true
        })
    }

    async fn delete_dead(&self, queue: &QueueName, which: Selection) -> Result<u64> {
        self.for_letters(queue, which, |queue, common, id| {
            let deleted = queue.dead.remove(id).is_some();
            common.stored -= usize::from(deleted);
            deleted
        })
    }

    async fn purge(&self, queue: &QueueName) -> Result<u64> {
        let jobs = self.look_into(queue, QueueState::purge)?;
        Ok(jobs.map_or(0, |jobs| jobs.len() as u64))
    }
}

impl MemoryDriver {
    pub(crate) fn queues_now(&self) -> Result<Vec<QueueName>> {
        let mut names = self.call(|store| {
            let used = store.queues.iter().filter(|queue| queue.used);
            used.map(|queue| queue.name.clone()).collect::<Vec<_>>()
        })?;
        names.sort_unstable();
        Ok(names)
    }

    pub(crate) fn peek_now(
        &self,
        queue: &QueueName,
        state: JobState,
        page: &PageRequest,
    ) -> Result<Page<JobInfo>> {
        let limit = limit_of(page)?;
        let after = page.after.as_deref().map(Cursor::parse).transpose()?;
        let found = self.look_into(queue, |queue, common| {
            let keys = queue.listed(common, state, after, limit + 1);
            let shown = &keys[..limit.min(keys.len())];
            let items = shown
                .iter()
                .map(|key| info_of_job(&common.jobs[*key], common.now));
            let last = shown.last().filter(|_| keys.len() > limit);
            let next = last.map(|key| Cursor::of(&common.jobs[*key]).to_string());
            Page {
                items: items.collect(),
                next,
            }
        })?;
        Ok(found.unwrap_or(Page {
            items: Vec::new(),
            next: None,
        }))
    }

    pub(crate) fn dead_letters_now(
        &self,
        queue: &QueueName,
        page: &PageRequest,
    ) -> Result<Page<DeadLetterInfo>> {
        let limit = limit_of(page)?;
        let after = match &page.after {
            Some(text) => Some(text.parse().map_err(|_| not_a_cursor(text))?),
            None => None,
        };
        let found = self.call(|store| {
            let (queue, _) = store.find(queue)?;
            let letters = queue.dead.after(after).take(limit + 1);
            let mut items: Vec<_> = letters
                .map(|(id, letter)| info_of_letter(queue, *id, letter))
                .collect();
            let more = items.len() > limit;
            items.truncate(limit);
            let next = items
                .last()
                .filter(|_| more)
                .map(|letter| letter.id.to_string());
            Some(Page { items, next })
        })?;
        Ok(found.unwrap_or(Page {
            items: Vec::new(),
            next: None,
        }))
    }

    /// Looks at a queue once all that is due has been moved. `None` when there is no such queue.
    fn look_into<T>(
        &self,
        queue: &QueueName,
        look: impl Fn(&mut QueueState, &mut Common) -> T,
    ) -> Result<Option<T>> {
        loop {
            let looked = self.call(|store| {
                let Some((queue, common)) = store.find(queue) else {
                    return Some(None);
                };
                (!queue.promote(common, BOUND).more).then(|| Some(look(queue, common)))
            })?;
            if let Some(answer) = looked {
                return Ok(answer);
            }
        }
    }

    /// Does something to selected dead letters, a bounded number per hold of the lock, and counts
    /// those to which it was done. Letters that come meanwhile may be left out.
    fn for_letters(
        &self,
        queue: &QueueName,
        which: Selection,
        act: impl Fn(&mut QueueState, &mut Common, JobId) -> bool,
    ) -> Result<u64> {
        let act_on = |ids: &[JobId]| {
            self.call(|store| {
                let Some((queue, common)) = store.find(queue) else {
                    return 0;
                };
                queue.promote(common, BOUND);
                ids.iter().filter(|id| act(queue, common, **id)).count() as u64
            })
        };
        let mut count = 0;
        match which {
            Selection::Ids(mut ids) => {
                // By age, so that jobs of one ordering key come back in their order.
                ids.sort_unstable();
                for ids in ids.chunks(BOUND) {
                    count += act_on(ids)?;
                }
            }
            Selection::All => {
                let last = self.call(|store| store.find(queue)?.0.dead.last_id())?;
                let mut after = None;
                while after < last {
                    let ids: Vec<_> = self.call(|store| {
                        let Some((queue, _)) = store.find(queue) else {
                            return Vec::new();
                        };
                        let ids = queue.dead.after(after).map(|(id, _)| *id);
                        ids.take_while(|id| Some(*id) <= last).take(BOUND).collect()
                    })?;
                    after = ids.last().copied().or(last);
                    count += act_on(&ids)?;
                }
            }
        }
        Ok(count)
    }
}
