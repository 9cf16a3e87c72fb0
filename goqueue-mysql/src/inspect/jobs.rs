//! Counting, listing and purging jobs.

use std::{collections::BTreeSet, time::Duration};

use goqueue_core::{
    Error, QueueName,
    driver::{JobInfo, JobState, Page, PageRequest, QueueStats},
};
use sqlx::mysql::MySqlRow;
use tokio::time::sleep;

use super::{CHUNK, MAX_PAGE, body};
use crate::{
    clock::{self, HELD, HELD_FROM, NOW},
    error::Fault,
    lanes::{self, Candidate, Lane},
    row,
    shared::Shared,
    sql::{Message, Name, list},
    unique::{self, Key},
};

/// How often a purge comes back for jobs that it had to skip.
const MOST_PURGES: usize = 20;
const BETWEEN_PURGES: Duration = Duration::from_millis(10);

impl Shared {
    pub(super) async fn stats(&self, queue: &QueueName) -> Result<QueueStats, Fault> {
        let answers = self
            .ask(|| {
                let mut message = Message::new();
                message.put(&self.sql.stats, &[("queue", &Name(queue))]);
                message
            })
            .await?;
        let mut stats = QueueStats::default();
        for row in answers.iter().flat_map(|answer| &answer.rows) {
            stats.ready += count(row, "ready")?;
            stats.scheduled += count(row, "scheduled")?;
            stats.running += count(row, "running")?;
            let waited: Option<i64> = row::get(row, "waited")?;
            stats.oldest_ready = stats.oldest_ready.max(waited.map(clock::duration));
            stats.dead += count(row, "dead")?;
        }
        Ok(stats)
    }

    pub(super) async fn peek(
        &self,
        queue: &QueueName,
        state: JobState,
        page: &PageRequest,
    ) -> Result<Page<JobInfo>, Fault> {
        let limit = page.limit.clamp(1, MAX_PAGE);
        let which = match state {
            JobState::Ready => format!(
                "(visible_after <= {NOW} OR visible_after BETWEEN {HELD_FROM} AND {HELD} + {NOW})"
            ),
            JobState::Scheduled => format!(
                "visible_after > {NOW} AND leased = 0 \
                 AND (visible_after < {HELD_FROM} OR visible_after > {HELD} + {NOW})"
            ),
            JobState::Running => {
                format!("visible_after > {NOW} AND visible_after < {HELD_FROM} AND leased = 1")
            }
        };
        let after = match &page.after {
            None => String::new(),
            Some(after) => {
                let (visible_after, seq) = cursor(after)?;
                format!(
                    "AND visible_after >= {visible_after} \
                     AND (visible_after > {visible_after} OR seq > {seq})"
                )
            }
        };
        let answers = self
            .ask(|| {
                let mut message = Message::new();
                message.put(
                    &self.sql.peek,
                    &[
                        ("queue", &Name(queue)),
                        ("state", &which),
                        ("after", &after),
                        ("limit", &limit),
                    ],
                );
                message
            })
            .await?;
        let rows = answers
            .first()
            .map(|answer| &answer.rows[..])
            .unwrap_or_default();
        let mut items = Vec::with_capacity(rows.len());
        for row in rows {
            items.push(JobInfo {
                id: row::id(row)?,
                state,
                attempts: row::get(row, "attempt")?,
                due_in: clock::duration(row::get(row, "due_in")?),
                last_error: row::get(row, "last_error")?,
                body: body(row)?,
            });
        }
        let next = match rows.last() {
            Some(row) if rows.len() == limit => {
                let visible_after: i64 = row::get(row, "visible_after")?;
                let seq: u64 = row::get(row, "seq")?;
                Some(format!("{visible_after}.{seq}"))
            }
            _ => None,
        };
        Ok(Page { items, next })
    }

    pub(super) async fn purge(&self, queue: &QueueName) -> Result<u64, Fault> {
        let mut purged = 0;
        for _ in 0..MOST_PURGES {
            let (mut after, mut skipped) = (None, 0);
            loop {
                let some = self.settled(|| self.purge_some(queue, after)).await?;
                purged += some.purged;
                skipped += some.skipped;
                after = some.last;
                if some.is_last {
                    break;
                }
            }
            if skipped == 0 {
                break;
            }
            sleep(BETWEEN_PURGES).await;
        }
        Ok(purged)
    }

    async fn purge_some(
        &self,
        queue: &QueueName,
        after: Option<(i64, u64)>,
    ) -> Result<Purged, Fault> {
        let mut session = self.connections.session(Duration::ZERO).await?;
        let after = after.map_or_else(String::new, |(visible_after, seq)| {
            format!(
                "AND visible_after >= {visible_after} \
                 AND (visible_after > {visible_after} OR seq > {seq})"
            )
        });
        let mut message = Message::new();
        message.put(&self.sql.begin, &[]);
        let found = message.put(
            &self.sql.purge_scan,
            &[
                ("queue", &Name(queue)),
                ("after", &after),
                ("limit", &CHUNK),
            ],
        );
        let answers = session.open(message).await?;
        let rows = &answers[found].rows;
        let (mut seqs, mut keys, mut in_lanes) = (Vec::new(), Vec::new(), Vec::new());
        let mut last = None;
        for row in rows {
            let seq: u64 = row::get(row, "seq")?;
            last = Some((row::get(row, "visible_after")?, seq));
            let key: Option<Vec<u8>> = row::get(row, "unique_key")?;
            let key = match key {
                Some(key) => Some(Key {
                    queue: queue.clone(),
                    key,
                    id: row::id(row)?,
                }),
                None => None,
            };
            match lanes::lane(row)? {
                Some(lane) => in_lanes.push((Candidate { lane, seq }, key)),
                None => {
                    seqs.push(seq);
                    keys.extend(key);
                }
            }
        }
        let mut message = Message::new();
        let mut skipped = 0;
        if !in_lanes.is_empty() {
            let lanes: BTreeSet<Lane> = in_lanes.iter().map(|(c, _)| c.lane.clone()).collect();
            // A lane that is being moved on waits for a row of ours: do not wait for it in turn.
            let locked = lanes::lock_or_open(&mut session, &self.sql, &lanes).await?;
            let is_ours = |(candidate, _): &&(Candidate, _)| locked.contains_key(&candidate.lane);
            let ours: Vec<_> = in_lanes.iter().filter(is_ours).cloned().collect();
            skipped = (in_lanes.len() - ours.len()) as u64;
            seqs.extend(ours.iter().map(|(candidate, _)| candidate.seq));
            keys.extend(ours.iter().filter_map(|(_, key)| key.clone()));
            let ours: Vec<Candidate> = ours.into_iter().map(|(candidate, _)| candidate).collect();
            if !ours.is_empty() {
                lanes::leave(&mut session, &self.sql, &ours, &locked, &mut message).await?;
            }
        }
        if !keys.is_empty() {
            message.put(
                &self.sql.drop_keys,
                &[("keys", &unique::rows_of(&mut keys))],
            );
        }
        if !seqs.is_empty() {
            let seqs = list(seqs.iter().copied());
            message.put(&self.sql.purge_jobs, &[("seqs", &seqs)]);
        }
        message.put(&self.sql.remember_queue, &[("queue", &Name(queue))]);
        message.put(&self.sql.commit, &[]);
        session.finish(message).await?;
        Ok(Purged {
            purged: seqs.len() as u64,
            skipped,
            last,
            is_last: rows.len() < CHUNK,
        })
    }
}

struct Purged {
    purged: u64,
    /// Jobs whose ordering keys somebody else is just moving on.
    skipped: u64,
    last: Option<(i64, u64)>,
    is_last: bool,
}

fn count(row: &MySqlRow, column: &str) -> Result<u64, Fault> {
    Ok(u64::try_from(row::get::<i64>(row, column)?).unwrap_or_default())
}

/// Where a page of jobs starts.
fn cursor(text: &str) -> Result<(i64, u64), Error> {
    let parts = text
        .split_once('.')
        .and_then(|(visible_after, seq)| Some((visible_after.parse().ok()?, seq.parse().ok()?)));
    parts.ok_or_else(|| Error::Invalid {
        what: "page",
        given: text.into(),
        allowed: "the `next` of the page before",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_and_nothing_else_is() {
        assert_eq!(cursor("-5.7").unwrap(), (-5, 7));
        for other in ["", "5", "5.x", "a.1", "1.2; DROP"] {
            assert!(cursor(other).is_err(), "{other}");
        }
    }
}
