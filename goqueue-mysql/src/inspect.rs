//! The administrative calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use goqueue_core::{
    Error, JobId, QueueName, Result,
    driver::{
        DeadLetterInfo, Inspect, JobInfo, JobState, Page, PageRequest, QueueStats, Selection,
    },
};
use sqlx::mysql::MySqlRow;
use tokio::time::sleep;

use crate::{
    clock::{self, HELD, HELD_FROM, NEVER, NOW},
    connections::{Answer, Session},
    error::Fault,
    lanes::{self, Candidate, Lane},
    row,
    shared::Shared,
    sql::{Hex, Message, Name, joined, list},
    unique::{self, Key},
};

/// How many jobs or letters one transaction removes or moves.
const CHUNK: usize = 500;
/// How often a purge comes back for jobs that it had to skip.
const MOST_PURGES: usize = 20;
const BETWEEN_PURGES: Duration = Duration::from_millis(10);
/// The most items of a page.
const MAX_PAGE: usize = 1_000;

#[derive(Clone)]
pub(crate) struct MysqlInspect(Arc<Shared>);

impl MysqlInspect {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }
}

impl fmt::Debug for MysqlInspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MysqlInspect").finish_non_exhaustive()
    }
}

#[async_trait]
impl Inspect for MysqlInspect {
    async fn queues(&self) -> Result<Vec<QueueName>> {
        self.0.call("list the queues", self.0.queues()).await
    }

    async fn stats(&self, queue: &QueueName) -> Result<QueueStats> {
        self.0.call("count jobs", self.0.stats(queue)).await
    }

    async fn peek(
        &self,
        queue: &QueueName,
        state: JobState,
        page: PageRequest,
    ) -> Result<Page<JobInfo>> {
        self.0
            .call("list jobs", self.0.peek(queue, state, &page))
            .await
    }

    async fn dead_letters(
        &self,
        queue: &QueueName,
        page: PageRequest,
    ) -> Result<Page<DeadLetterInfo>> {
        self.0
            .call("list dead letters", self.0.letters(queue, &page))
            .await
    }

    async fn dead_letter(&self, queue: &QueueName, id: JobId) -> Result<Option<DeadLetterInfo>> {
        self.0
            .call("read a dead letter", self.0.letter(queue, id))
            .await
    }

    async fn requeue_dead(&self, queue: &QueueName, which: Selection) -> Result<u64> {
        self.0
            .call("requeue dead letters", self.0.requeue(queue, &which))
            .await
    }

    async fn delete_dead(&self, queue: &QueueName, which: Selection) -> Result<u64> {
        self.0
            .call("delete dead letters", self.0.delete_letters(queue, &which))
            .await
    }

    async fn purge(&self, queue: &QueueName) -> Result<u64> {
        self.0.call("purge", self.0.purge(queue)).await
    }
}

impl Shared {
    async fn ask(&self, question: impl Fn() -> Message) -> Result<Vec<Answer>, Fault> {
        self.settled(|| async {
            let mut session = self.connections.session(Duration::ZERO).await?;
            session.finish(question()).await
        })
        .await
    }

    async fn queues(&self) -> Result<Vec<QueueName>, Fault> {
        let answers = self
            .ask(|| {
                let mut message = Message::new();
                message.put(&self.sql.queues, &[]);
                message
            })
            .await?;
        // What somebody else's program has put there under a name that is none is left out.
        let rows = answers.iter().flat_map(|answer| &answer.rows);
        Ok(rows.filter_map(|row| row::queue(row).ok()).collect())
    }

    async fn stats(&self, queue: &QueueName) -> Result<QueueStats, Fault> {
        let answers = self
            .ask(|| {
                let mut message = Message::new();
                message.put(&self.sql.stats, &[("queue", &Name(queue))]);
                message
            })
            .await?;
        let mut stats = QueueStats::default();
        for row in answers.iter().take(2).flat_map(|answer| &answer.rows) {
            stats.ready += count(row, "ready")?;
            stats.scheduled += count(row, "scheduled")?;
            stats.running += count(row, "running")?;
            let waited: Option<i64> = row::get(row, "waited")?;
            stats.oldest_ready = stats.oldest_ready.max(waited.map(clock::duration));
        }
        if let Some(row) = answers.get(2).and_then(|answer| answer.rows.first()) {
            stats.dead = count(row, "dead")?;
        }
        Ok(stats)
    }

    async fn peek(
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

    async fn letters(
        &self,
        queue: &QueueName,
        page: &PageRequest,
    ) -> Result<Page<DeadLetterInfo>, Fault> {
        let limit = page.limit.clamp(1, MAX_PAGE);
        let after = page
            .after
            .as_ref()
            .map(|after| after.parse::<JobId>())
            .transpose()?;
        let items = self.some_letters(queue, &beyond(after), limit).await?;
        let next = (items.len() == limit)
            .then(|| items.last().map(|l| l.id.to_string()))
            .flatten();
        Ok(Page { items, next })
    }

    async fn letter(&self, queue: &QueueName, id: JobId) -> Result<Option<DeadLetterInfo>, Fault> {
        let which = format!("AND id IN ({})", ids(&[id]));
        Ok(self.some_letters(queue, &which, 1).await?.pop())
    }

    async fn some_letters(
        &self,
        queue: &QueueName,
        which: &str,
        limit: usize,
    ) -> Result<Vec<DeadLetterInfo>, Fault> {
        let answers = self
            .ask(|| {
                let mut message = Message::new();
                message.put(
                    &self.sql.dead_letters,
                    &[
                        ("queue", &Name(queue)),
                        ("which", &which),
                        ("limit", &limit),
                    ],
                );
                message
            })
            .await?;
        let letter = |row: &MySqlRow| {
            Ok(DeadLetterInfo {
                id: row::id(row)?,
                queue: row::queue(row)?,
                reason: row::reason(row)?,
                error: row::get(row, "error")?,
                attempts: row::get(row, "attempts")?,
                died_at: u64::try_from(row::get::<i64>(row, "died_at")?).unwrap_or_default(),
                body: body(row)?,
            })
        };
        answers
            .iter()
            .flat_map(|answer| &answer.rows)
            .map(letter)
            .collect()
    }

    async fn delete_letters(&self, queue: &QueueName, which: &Selection) -> Result<u64, Fault> {
        let mut deleted = 0;
        for which in chunks(which) {
            loop {
                let answers = self
                    .ask(|| {
                        let mut message = Message::new();
                        message.put(
                            &self.sql.delete_letters,
                            &[
                                ("queue", &Name(queue)),
                                ("which", &which),
                                ("limit", &CHUNK),
                            ],
                        );
                        message
                    })
                    .await?;
                let matched = answers
                    .first()
                    .map(|answer| answer.matched)
                    .unwrap_or_default();
                deleted += matched;
                if matched < CHUNK as u64 {
                    break;
                }
            }
        }
        Ok(deleted)
    }

    async fn requeue(&self, queue: &QueueName, which: &Selection) -> Result<u64, Fault> {
        let mut moved = 0;
        for which in chunks(which) {
            // Letters whose key is taken stay: go on behind them.
            let mut after = None;
            loop {
                let which = format!("{which} {}", beyond(after));
                let some = self.settled(|| self.requeue_some(queue, &which)).await?;
                moved += some.moved;
                after = some.last;
                if some.is_last {
                    break;
                }
            }
        }
        if moved > 0 {
            self.wakeups.wake([queue]);
        }
        Ok(moved)
    }

    async fn requeue_some(&self, queue: &QueueName, which: &str) -> Result<Requeued, Fault> {
        let mut session = self.connections.session(Duration::ZERO).await?;
        let mut message = Message::new();
        message.put(&self.sql.begin, &[]);
        let found = message.put(
            &self.sql.lock_letters,
            &[
                ("queue", &Name(queue)),
                ("which", &which),
                ("limit", &CHUNK),
            ],
        );
        let answers = session.open(message).await?;
        let letters: Vec<Letter> = answers[found]
            .rows
            .iter()
            .map(Letter::read)
            .collect::<Result<_, Fault>>()?;
        let kept_back = self.retake_keys(&mut session, queue, &letters).await?;
        let moving: Vec<&Letter> = letters
            .iter()
            .filter(|letter| !kept_back.contains(&letter.id))
            .collect();

        let mut message = Message::new();
        // The rows of a copy are not numbered one after the other on every server, so what has to
        // be found again for its lane is copied alone.
        for run in moving.chunk_by(|a, b| a.lane.is_none() && b.lane.is_none()) {
            let run_ids: Vec<JobId> = run.iter().map(|letter| letter.id).collect();
            message.put(
                &self.sql.revive,
                &[("queue", &Name(queue)), ("ids", &ids(&run_ids))],
            );
            if let Some(Lane { key, .. }) = run.first().and_then(|letter| letter.lane.as_ref()) {
                let row = format!("({}, {}, LAST_INSERT_ID())", Name(queue), Hex(key));
                message.put(&self.sql.insert_lane_jobs, &[("rows", &row)]);
            }
        }
        if !moving.is_empty() {
            let moved: Vec<JobId> = moving.iter().map(|letter| letter.id).collect();
            let which = format!("AND id IN ({})", ids(&moved));
            message.put(
                &self.sql.delete_letters,
                &[
                    ("queue", &Name(queue)),
                    ("which", &which),
                    ("limit", &CHUNK),
                ],
            );
        }
        message.put(&self.sql.commit, &[]);
        session.finish(message).await?;
        Ok(Requeued {
            moved: moving.len() as u64,
            last: letters.last().map(|letter| letter.id),
            is_last: letters.len() < CHUNK,
        })
    }

    /// Takes the unique keys of letters again. Answers whose are taken by a live job.
    async fn retake_keys(
        &self,
        session: &mut Session<'_>,
        queue: &QueueName,
        letters: &[Letter],
    ) -> Result<BTreeSet<JobId>, Fault> {
        use std::fmt::Write;
        // One order for everybody; of two letters with one key the older comes back.
        let mut keys: BTreeMap<&[u8], JobId> = BTreeMap::new();
        let mut kept_back = BTreeSet::new();
        for letter in letters {
            if let Some(key) = &letter.key {
                if keys.contains_key(&key[..]) {
                    kept_back.insert(letter.id);
                } else {
                    keys.insert(key, letter.id);
                }
            }
        }
        if keys.is_empty() {
            return Ok(kept_back);
        }
        let rows = joined(&keys, ",", |text, (key, id)| {
            let id = id.as_uuid();
            write!(
                text,
                "({}, {}, {}, 0, {NEVER})",
                Name(queue),
                Hex(key),
                Hex(id.as_bytes())
            )
        });
        let where_keys = joined(keys.keys(), " OR ", |text, key| {
            write!(
                text,
                "(queue = {} AND unique_key = {})",
                Name(queue),
                Hex(key)
            )
        });
        let mut message = Message::new();
        message.put(&self.sql.retake_keys, &[("rows", &rows)]);
        let found = message.put(&self.sql.key_holders, &[("keys", &where_keys)]);
        let answers = session.open(message).await?;
        let holders = unique::holders(&answers[found].rows)?;
        for (key, id) in keys {
            if holders.get(&(queue.clone(), key.to_vec())) != Some(&id) {
                kept_back.insert(id);
            }
        }
        Ok(kept_back)
    }

    async fn purge(&self, queue: &QueueName) -> Result<u64, Fault> {
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

struct Requeued {
    moved: u64,
    last: Option<JobId>,
    is_last: bool,
}

struct Purged {
    purged: u64,
    /// Jobs whose ordering keys somebody else is just moving on.
    skipped: u64,
    last: Option<(i64, u64)>,
    is_last: bool,
}

/// A dead letter on its way back.
struct Letter {
    id: JobId,
    lane: Option<Lane>,
    key: Option<Vec<u8>>,
}

impl Letter {
    fn read(row: &MySqlRow) -> Result<Self, Fault> {
        Ok(Self {
            id: row::id(row)?,
            lane: lanes::lane(row)?,
            key: row::get(row, "unique_key")?,
        })
    }
}

fn count(row: &MySqlRow, column: &str) -> Result<u64, Fault> {
    Ok(u64::try_from(row::get::<i64>(row, column)?).unwrap_or_default())
}

fn body(row: &MySqlRow) -> Result<Bytes, Fault> {
    let body: &[u8] = row::get(row, "body")?;
    Ok(Bytes::copy_from_slice(body))
}

fn ids(ids: &[JobId]) -> String {
    use std::fmt::Write;
    joined(ids, ",", |text, id| {
        write!(text, "{}", Hex(id.as_uuid().as_bytes()))
    })
}

fn beyond(after: Option<JobId>) -> String {
    after.map_or_else(String::new, |id| {
        format!("AND id > {}", Hex(id.as_uuid().as_bytes()))
    })
}

/// A selection as conditions, each of a size that fits into a statement.
fn chunks(which: &Selection) -> Vec<String> {
    match which {
        Selection::All => vec![String::new()],
        Selection::Ids(all) => {
            let mut all = all.clone();
            all.sort_unstable();
            all.dedup();
            all.chunks(CHUNK)
                .map(|some| format!("AND id IN ({})", ids(some)))
                .collect()
        }
    }
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

    #[test]
    fn a_selection_is_cut_to_size_and_repeats_nothing() {
        let one = JobId::new();
        assert_eq!(chunks(&Selection::Ids(vec![one, one])).len(), 1);
        assert!(chunks(&Selection::Ids(Vec::new())).is_empty());
        let many = (0..CHUNK + 1).map(|_| JobId::new()).collect();
        assert_eq!(chunks(&Selection::Ids(many)).len(), 2);
        assert_eq!(chunks(&Selection::All), [""]);
    }
}
