//! The transaction that takes jobs.

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;
use goqueue_core::{
    QueueName,
    driver::{Lease, ReserveRequest, Reserved},
};
use sqlx::mysql::MySqlRow;
use tokio::time::Instant;

use crate::{
    clock,
    connections::Session,
    error::Fault,
    floors::{Look, Place},
    lanes::{self, Candidate, Lane},
    row,
    shared::Shared,
    sql::{Message, Name, list},
    token::Token,
};

/// How many jobs one look into a queue goes through at most, unless it can take more.
const MOST_SCANNED: usize = 1_000;
/// How many looks one transaction takes. Only jobs that have to be held make it more than two.
const MOST_SCANS: usize = 16;
/// What one transaction came to.
pub(crate) struct Claim {
    pub(crate) jobs: Vec<Reserved>,
    /// It stopped at its bound: there may be more.
    pub(crate) is_cut_short: bool,
}

/// One transaction that takes jobs.
pub(crate) struct Claiming<'a> {
    shared: &'a Shared,
    request: &'a ReserveRequest,
    /// What is to be sent next.
    message: Message,
    taken: Vec<u64>,
    keyed: BTreeSet<u64>,
    /// Jobs of lanes that somebody else is moving on.
    left_alone: BTreeSet<u64>,
    queues: BTreeSet<QueueName>,
}

/// One look into a queue.
struct Scan<'a> {
    queue: &'a QueueName,
    limit: usize,
    is_from_floor: bool,
    answer: usize,
}

impl<'a> Claiming<'a> {
    pub(crate) fn new(shared: &'a Shared, request: &'a ReserveRequest) -> Self {
        Self {
            shared,
            request,
            message: Message::new(),
            taken: Vec::new(),
            keyed: BTreeSet::new(),
            left_alone: BTreeSet::new(),
            queues: BTreeSet::new(),
        }
    }

    pub(crate) async fn run(mut self, session: &mut Session<'_>) -> Result<Claim, Fault> {
        self.message.put(&self.shared.sql.begin, &[]);
        // First up to its share from each queue, then whatever there is.
        let shares = self.request.queues.iter();
        let mut wanted: Vec<(&QueueName, usize)> = shares
            .map(|share| (&share.queue, share.share.min(self.request.max)))
            .collect();
        let mut exhausted = BTreeSet::new();
        let mut held = 0;
        let mut is_cut_short = true;
        for pass in 0..MOST_SCANS {
            let scans = self.put_scans(&wanted);
            if !scans.is_empty() {
                let since = Instant::now();
                let answers = session.open(std::mem::take(&mut self.message)).await?;
                let time = since.elapsed();
                for scan in scans {
                    let found = &answers[scan.answer].rows;
                    if found.len() == scan.limit {
                        if let Some(last) = found.last() {
                            let at = Place {
                                visible_after: row::get(last, "visible_after")?,
                                seq: row::get(last, "seq")?,
                            };
                            let look = if scan.is_from_floor {
                                Look::FromFloor
                            } else {
                                Look::FromFront(time)
                            };
                            self.shared
                                .floors
                                .advance(scan.queue, look, at, found.len());
                        }
                    } else {
                        self.shared.floors.forget([scan.queue]);
                        if !scan.is_from_floor {
                            exhausted.insert(scan.queue);
                        }
                    }
                    held += self.sort_out(session, scan.queue, found, pass == 0).await?;
                }
            }
            let room = self.request.max - self.taken.len();
            // A long line behind one key is gone through in ever larger steps.
            let last = wanted
                .iter()
                .map(|(_, limit)| *limit)
                .max()
                .unwrap_or_default();
            let limit = if held == 0 {
                room
            } else {
                (2 * last).clamp(room, room.max(MOST_SCANNED))
            };
            let queues = self.request.queues.iter().map(|share| &share.queue);
            wanted = queues
                .filter(|q| !exhausted.contains(q))
                .map(|q| (q, limit))
                .collect();
            if room == 0 || wanted.is_empty() {
                is_cut_short = false;
                break;
            }
        }
        let jobs = self.finish(session).await?;
        Ok(Claim {
            jobs,
            is_cut_short: is_cut_short && held > 0,
        })
    }

    fn put_scans(&mut self, wanted: &[(&'a QueueName, usize)]) -> Vec<Scan<'a>> {
        let except = if self.left_alone.is_empty() {
            String::new()
        } else {
            format!("AND seq NOT IN ({})", list(self.left_alone.iter().copied()))
        };
        let mut scans = Vec::new();
        for &(queue, limit) in wanted.iter().filter(|(_, limit)| *limit > 0) {
            let from = self.shared.floors.of(queue);
            let start = from.map_or_else(
                String::new,
                |Place {
                     visible_after: at,
                     seq,
                 }| {
                    format!("AND ((visible_after = {at} AND seq > {seq}) OR visible_after > {at})")
                },
            );
            let answer = self.message.put(
                &self.shared.sql.scan,
                &[
                    ("queue", &Name(queue)),
                    ("from", &start),
                    ("except", &except),
                    ("limit", &limit),
                ],
            );
            scans.push(Scan {
                queue,
                limit,
                is_from_floor: from.is_some(),
                answer,
            });
        }
        scans
    }

    /// Takes what it can of the jobs found in one queue, and holds what has to wait. Answers how
    /// many it holds.
    async fn sort_out(
        &mut self,
        session: &mut Session<'_>,
        queue: &QueueName,
        found: &[MySqlRow],
        is_first_pass: bool,
    ) -> Result<usize, Fault> {
        let mut order = Vec::with_capacity(found.len());
        let mut candidates = Vec::new();
        for row in found {
            let seq: u64 = row::get(row, "seq")?;
            if row::get::<i64>(row, "keyed")? != 0 {
                self.keyed.insert(seq);
            }
            let key: Option<Vec<u8>> = row::get(row, "ordering_key")?;
            let is_in_lane = key.is_some();
            if let Some(key) = key {
                candidates.push(Candidate {
                    lane: Lane {
                        queue: queue.clone(),
                        key,
                    },
                    seq,
                });
            }
            order.push((seq, is_in_lane));
        }
        let sql = &self.shared.sql;
        let sorted = if candidates.is_empty() {
            lanes::Sorted::default()
        } else {
            lanes::sort_out(session, sql, &candidates, &mut self.message).await?
        };
        if !sorted.hold.is_empty() {
            self.message
                .put(&sql.hold, &[("seqs", &list(sorted.hold.iter().copied()))]);
        }
        let room = self.request.max - self.taken.len();
        let share = self
            .request
            .queues
            .iter()
            .find(|share| share.queue == *queue);
        let most = match share {
            Some(share) if is_first_pass => room.min(share.share),
            _ => room,
        };
        let mut take = Vec::new();
        let mut is_behind = false;
        for (seq, is_in_lane) in order {
            if is_in_lane && !sorted.take.contains(&seq) {
                if !sorted.hold.contains(&seq) {
                    self.left_alone.insert(seq);
                    is_behind = true;
                }
            } else if take.len() < most {
                take.push(seq);
            } else {
                is_behind = true;
            }
        }
        if is_behind {
            // The next look must not begin behind what is left here.
            self.shared.floors.forget([queue]);
        }
        if !take.is_empty() {
            self.queues.insert(queue.clone());
            self.taken.extend(&take);
            let lease = clock::millis(self.request.lease);
            self.message
                .put(&sql.take, &[("lease", &lease), ("seqs", &list(take))]);
        }
        Ok(sorted.hold.len())
    }

    async fn finish(mut self, session: &mut Session<'_>) -> Result<Vec<Reserved>, Fault> {
        let sql = &self.shared.sql;
        if self.taken.is_empty() {
            self.message.put(&sql.commit, &[]);
            session.finish(self.message).await?;
            return Ok(Vec::new());
        }
        let new_queues: Vec<QueueName> = self
            .shared
            .unknown_queues(&self.queues)
            .into_iter()
            .cloned()
            .collect();
        for queue in &new_queues {
            self.message
                .put(&sql.remember_queue, &[("queue", &Name(queue))]);
        }
        let seqs = list(self.taken.iter().copied());
        let fetched = self.message.put(&sql.fetch, &[("seqs", &seqs)]);
        self.message.put(&sql.commit, &[]);
        let answers = session.finish(self.message).await?;
        self.shared.know_queues(new_queues);

        let mut jobs = Vec::with_capacity(self.taken.len());
        for row in &answers[fetched].rows {
            let seq: u64 = row::get(row, "seq")?;
            let token = Token {
                seq,
                number: row::get(row, "token")?,
                is_keyed: self.keyed.contains(&seq),
            };
            let (queue, id) = (row::queue(row)?, row::id(row)?);
            let body: &[u8] = row::get(row, "body")?;
            let reserved = Reserved {
                body: Bytes::copy_from_slice(body),
                attempt: row::get(row, "attempt")?,
                lease: Lease {
                    token: token.on(&queue, id),
                    queue,
                    id,
                },
            };
            jobs.push((seq, reserved));
        }
        // The order in which they were found is the order in which they are to run.
        let places: HashMap<u64, usize> = self
            .taken
            .iter()
            .enumerate()
            .map(|(place, seq)| (*seq, place))
            .collect();
        jobs.sort_by_key(|(seq, _)| places.get(seq).copied());
        Ok(jobs.into_iter().map(|(_, reserved)| reserved).collect())
    }
}
