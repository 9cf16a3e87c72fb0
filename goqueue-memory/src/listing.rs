//! What the administrative listings show, and in which order.

use std::{fmt, ops::Bound};

use goqueue_core::{
    Error, JobId, Result,
    driver::{DeadLetterInfo, JobInfo, JobState, PageRequest, QueueStats},
};

use crate::{
    arena::Key,
    clock::Moment,
    dead::Letter,
    job::{Job, Place},
    queue::{Common, QueueState},
};

/// The most items of a page, so that copying them does not keep the lock for long.
const PAGE: usize = 10_000;

impl QueueState {
    pub(crate) fn stats(&self, common: &Common) -> QueueStats {
        let firsts = [
            self.ready.front(),
            self.returned.first_key_value().map(|(_, key)| key),
            self.held.first_key_value().map(|(_, key)| key),
        ];
        // Due times follow ranks, so the first of each place is the longest due.
        let oldest = firsts
            .into_iter()
            .flatten()
            .map(|key| common.jobs[*key].due)
            .min();
        QueueStats {
            ready: (self.ready.len() + self.returned.len() + self.held.len()) as u64,
            scheduled: self.scheduled.len() as u64,
            running: self.leases.len() as u64,
            dead: self.dead.len() as u64,
            oldest_ready: oldest.map(|due| common.now.since(due)),
        }
    }

    /// Up to `most` jobs that come after the cursor.
    pub(crate) fn listed(
        &self,
        common: &Common,
        state: JobState,
        after: Option<Cursor>,
        most: usize,
    ) -> Vec<Key> {
        let tree = match state {
            JobState::Ready => {
                return self.listed_ready(common, after.map_or(0, |cursor| cursor.rank), most);
            }
            JobState::Scheduled => &self.scheduled,
            JobState::Running => &self.leases,
        };
        let start = after.map_or(Bound::Unbounded, |c| Bound::Excluded((c.at, c.rank)));
        tree.range((start, Bound::Unbounded))
            .take(most)
            .map(|(_, key)| *key)
            .collect()
    }

    fn listed_ready(&self, common: &Common, after: u64, most: usize) -> Vec<Key> {
        let rank = |key: &Key| common.jobs[*key].rank;
        let first = self.ready.partition_point(|key| rank(key) <= after);
        let mut keys: Vec<_> = self.ready.range(first..).take(most).copied().collect();
        for tree in [&self.returned, &self.held] {
            let rest = tree.range((Bound::Excluded(after), Bound::Unbounded));
            keys.extend(rest.take(most).map(|(_, key)| *key));
        }
        keys.sort_unstable_by_key(rank);
        keys.truncate(most);
        keys
    }
}

/// The place of a job in a listing. Good even when that job has gone on.
#[derive(Clone, Copy)]
pub(crate) struct Cursor {
    at: Moment,
    rank: u64,
}

impl Cursor {
    pub(crate) fn of(job: &Job) -> Self {
        let at = match job.place {
            Place::Running { until } => until,
            Place::Scheduled | Place::Ready | Place::Held => job.due,
        };
        Self { at, rank: job.rank }
    }

    pub(crate) fn parse(text: &str) -> Result<Self> {
        let parts = text
            .split_once('.')
            .map(|(at, rank)| (at.parse(), rank.parse()));
        match parts {
            Some((Ok(at), Ok(rank))) => Ok(Self {
                at: Moment::from_nanos(at),
                rank,
            }),
            _ => Err(not_a_cursor(text)),
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.at.nanos(), self.rank)
    }
}

pub(crate) fn not_a_cursor(given: &str) -> Error {
    let allowed = "the `next` of the page before, as it was given";
    Error::Invalid {
        what: "page cursor",
        given: given.into(),
        allowed,
    }
}

pub(crate) fn limit_of(page: &PageRequest) -> Result<usize> {
    if page.limit == 0 {
        let (setting, given) = ("limit", "0".into());
        return Err(Error::InvalidSetting {
            setting,
            given,
            allowed: "1 or more",
        });
    }
    Ok(page.limit.min(PAGE))
}

pub(crate) fn info_of_job(job: &Job, now: Moment) -> JobInfo {
    let (state, end) = match job.place {
        Place::Scheduled => (JobState::Scheduled, job.due),
        Place::Ready | Place::Held => (JobState::Ready, job.due),
        Place::Running { until } => (JobState::Running, until),
    };
    JobInfo {
        id: job.id,
        state,
        attempts: job.attempts,
        due_in: end.since(now),
        last_error: job.last_error().map(str::to_owned),
        body: job.body.clone(),
    }
}

pub(crate) fn info_of_letter(queue: &QueueState, id: JobId, letter: &Letter) -> DeadLetterInfo {
    DeadLetterInfo {
        id,
        queue: queue.name.clone(),
        reason: letter.reason,
        error: letter.error.clone(),
        attempts: letter.attempts,
        died_at: letter.died_at,
        body: letter.body.clone(),
    }
}
