//! Listing dead letters, deleting them and making them jobs again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    time::Duration,
};

use goqueue_core::{
    JobId, QueueName,
    driver::{DeadLetterInfo, Page, PageRequest, Selection},
};
use sqlx::mysql::MySqlRow;

use super::{CHUNK, MAX_PAGE, body};
use crate::{
    clock::NEVER,
    connections::Session,
    error::Fault,
    lanes::{self, Lane},
    row,
    shared::Shared,
    sql::{Hex, Message, Name, joined},
    unique,
};

impl Shared {
    pub(super) async fn letters(
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

    pub(super) async fn letter(
        &self,
        queue: &QueueName,
        id: JobId,
    ) -> Result<Option<DeadLetterInfo>, Fault> {
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

    pub(super) async fn delete_letters(
        &self,
        queue: &QueueName,
        which: &Selection,
    ) -> Result<u64, Fault> {
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

    pub(super) async fn requeue(&self, queue: &QueueName, which: &Selection) -> Result<u64, Fault> {
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
            self.waiters.wake([queue]);
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
}

struct Requeued {
    moved: u64,
    last: Option<JobId>,
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

fn ids(ids: &[JobId]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

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
