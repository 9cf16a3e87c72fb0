use std::time::Duration;

use goqueue_core::{
    JobId, QueueName,
    driver::{DeadLetterInfo, JobInfo, JobState, QueueStats, Selection},
};

use super::{
    Model,
    job::{Job, Place, State},
};

/// The administrative calls.
impl Model {
    pub(crate) fn queues(&self) -> Vec<QueueName> {
        self.queues.iter().cloned().collect()
    }

    pub(crate) fn stats(&self, queue: &QueueName) -> QueueStats {
        let mut stats = QueueStats::default();
        for job in self.live.values().filter(|job| job.queue == *queue) {
            match job.state_at(self.now) {
                JobState::Ready => {
                    stats.ready += 1;
                    let waited = self.now.saturating_sub(job.changes_at());
                    stats.oldest_ready = stats.oldest_ready.max(Some(waited));
                }
                JobState::Scheduled => stats.scheduled += 1,
                JobState::Running => stats.running += 1,
            }
        }
        stats.dead = self
            .dead
            .values()
            .filter(|dead| dead.job.queue == *queue)
            .count() as u64;
        stats
    }

    /// The jobs of one state, in the order of [`Inspect::peek`](goqueue_core::driver::Inspect).
    pub(crate) fn jobs(&self, queue: &QueueName, state: JobState) -> Vec<JobInfo> {
        let is_wanted = |job: &Job| job.queue == *queue && job.state_at(self.now) == state;
        let mut jobs: Vec<_> = self.live.iter().filter(|(_, job)| is_wanted(job)).collect();
        jobs.sort_by_key(|(_, job)| job.rank());
        jobs.into_iter()
            .map(|(id, job)| JobInfo {
                id: *id,
                state,
                attempts: job.attempts,
                due_in: job.changes_at().saturating_sub(self.now),
                last_error: job.last_error.clone(),
                body: job.body.clone(),
            })
            .collect()
    }

    /// The dead letters of a queue, the oldest job first. `epoch` is what the model's time counts
    /// from.
    pub(crate) fn dead_letters(&self, queue: &QueueName, epoch: Duration) -> Vec<DeadLetterInfo> {
        self.dead
            .iter()
            .filter(|(_, dead)| dead.job.queue == *queue)
            .map(|(id, dead)| DeadLetterInfo {
                id: *id,
                queue: dead.job.queue.clone(),
                reason: dead.reason,
                error: dead.error.clone(),
                attempts: dead.job.attempts,
                died_at: (epoch + dead.died_at)
                    .as_millis()
                    .try_into()
                    .unwrap_or(u64::MAX),
                body: dead.job.body.clone(),
            })
            .collect()
    }

    pub(crate) fn requeue_dead(&mut self, queue: &QueueName, which: &Selection) -> u64 {
        let mut moved = 0;
        for id in self.selected(queue, which) {
            let job = &self.dead[&id].job;
            let unique = job.unique.clone();
            if unique
                .as_ref()
                .is_some_and(|u| self.is_key_of_a_live_job(queue, &u.key))
            {
                continue;
            }
            let Some(dead) = self.dead.remove(&id) else {
                continue;
            };
            self.pushed += 1;
            if let Some(unique) = unique {
                let holder =
                    self.keys
                        .entry((queue.clone(), unique.key))
                        .or_insert(super::Holder {
                            id,
                            until: Duration::ZERO,
                        });
                holder.id = id;
            }
            let job = Job {
                seq: self.pushed,
                attempts: 0,
                is_fresh: false,
                place: Place::Due,
                state: State::Waiting { due: self.now },
                ..dead.job
            };
            self.live.insert(id, job);
            moved += 1;
        }
        moved
    }

    pub(crate) fn delete_dead(&mut self, queue: &QueueName, which: &Selection) -> u64 {
        let selected = self.selected(queue, which);
        for id in &selected {
            self.dead.remove(id);
        }
        selected.len() as u64
    }

    /// Removes every job that is not running and frees its key, held or not.
    pub(crate) fn purge(&mut self, queue: &QueueName) -> u64 {
        let is_removed =
            |job: &Job| job.queue == *queue && job.state_at(self.now) != JobState::Running;
        let removed: Vec<_> = self
            .live
            .iter()
            .filter(|(_, job)| is_removed(job))
            .map(|(id, _)| *id)
            .collect();
        for id in &removed {
            self.live.remove(id);
            self.keys.retain(|_, holder| holder.id != *id);
        }
        removed.len() as u64
    }

    fn is_key_of_a_live_job(&self, queue: &QueueName, key: &str) -> bool {
        let holder = self.keys.get(&(queue.clone(), key.to_owned()));
        holder.is_some_and(|holder| self.is_alive_with(holder.id, key))
    }

    fn selected(&self, queue: &QueueName, which: &Selection) -> Vec<JobId> {
        let is_here = |id: &JobId| {
            self.dead
                .get(id)
                .is_some_and(|dead| dead.job.queue == *queue)
        };
        match which {
            Selection::All => self.dead.keys().copied().filter(is_here).collect(),
            Selection::Ids(ids) => {
                let mut ids: Vec<_> = ids.iter().copied().filter(is_here).collect();
                ids.sort_unstable();
                ids.dedup();
                ids
            }
        }
    }
}
