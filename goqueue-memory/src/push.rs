use goqueue_core::{
    Error,
    driver::{NewJob, PushOutcome},
};

use crate::{
    job::{Job, Keys, QueueIndex, UniqueHold},
    store::{BOUND, Store},
};

impl Store {
    pub(crate) fn push(&mut self, jobs: Vec<NewJob>) -> Vec<PushOutcome> {
        let mut outcomes = Vec::with_capacity(jobs.len());
        let mut last = None;
        for job in jobs {
            // Nearly always one queue per batch: look it up and bring it up to date once.
            let index = match last {
                Some(index) if self.queue(index).0.name == job.queue => index,
                _ => {
                    let index = self.index(&job.queue);
                    let (queue, common) = self.queue(index);
                    queue.promote(common, BOUND);
                    index
                }
            };
            last = Some(index);
            outcomes.push(self.push_one(index, job));
        }
        outcomes
    }

    fn push_one(&mut self, index: QueueIndex, new: NewJob) -> PushOutcome {
        let NewJob {
            id,
            queue: _,
            body,
            delay,
            ordering_key,
            unique,
        } = new;
        let capacity = self.settings.capacity;
        let (queue, common) = self.queue(index);
        if let Some(unique) = &unique
            && let Some(holder) = queue.uniques.holder(&unique.key, common.now)
        {
            return PushOutcome::Duplicate(holder);
        }
        if common.stored >= capacity {
            let queue = queue.name.as_str().to_owned();
            return PushOutcome::Refused(Error::QueueFull { queue, capacity });
        }
        let keys = Keys {
            lane: ordering_key.map(|key| queue.lanes.name(&key)),
            unique: unique.map(|unique| UniqueHold {
                key: unique.key.into(),
                until: common.now.after(unique.hold),
            }),
        };
        let due = common.now.after(delay);
        queue.add(common, Job::new(id, body, index, keys), due);
        common.stored += 1;
        PushOutcome::Stored
    }
}
