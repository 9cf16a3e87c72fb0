//! Handing jobs out.

use std::{
    collections::{BTreeSet, HashMap},
    pin::{Pin, pin},
    time::Duration,
};

use bytes::Bytes;
use goqueue_core::{
    QueueName,
    driver::{Lease, ReserveRequest, Reserved},
};
use sqlx::mysql::MySqlRow;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    clock,
    connections::Session,
    error::Fault,
    floors::{Look, Place},
    lanes::{self, Candidate, Lane},
    row,
    settle::Token,
    shared::Shared,
    sql::{Message, Name, list},
};

/// The pause after which a reservation that found nothing looks for the first time.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
/// How many jobs one look into a queue goes through at most, unless it can take more.
const MOST_SCANNED: usize = 1_000;
/// How many looks one transaction takes. Only jobs that have to be held make it more than two.
const MOST_SCANS: usize = 16;
/// How long a reservation that is cancelled may take to end a transaction that is under way.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What one transaction came to.
struct Claim {
    jobs: Vec<Reserved>,
    /// It stopped at its bound: there may be more.
    is_cut_short: bool,
}

impl Shared {
    pub(crate) async fn reserve(&self, request: &ReserveRequest) -> Result<Vec<Reserved>, Fault> {
        if request.max == 0 || request.queues.is_empty() {
            return Ok(Vec::new());
        }
        let deadline = Instant::now() + request.wait;
        let queues = request
            .queues
            .iter()
            .map(|share| share.queue.clone())
            .collect();
        let listener = self.wakeups.listen(queues);
        let mut pause = SHORTEST_PAUSE;
        loop {
            let claim = pin!(self.claim(request));
            let claim = match self.unless_cancelled(request, claim).await {
                Some(claim) => claim?,
                None => return Ok(Vec::new()),
            };
            if !claim.jobs.is_empty() {
                return Ok(claim.jobs);
            }
            if claim.is_cut_short {
                continue;
            }
            // Nothing was there. Look now and then, which costs less than a transaction.
            let mut due_in = Duration::ZERO;
            loop {
                let until_end = deadline.saturating_duration_since(Instant::now());
                if until_end.is_zero() {
                    return Ok(Vec::new());
                }
                let nap = if due_in.is_zero() {
                    pause
                } else {
                    pause.min(due_in)
                };
                tokio::select! {
                    biased;
                    () = request.cancel.cancelled() => return Ok(Vec::new()),
                    () = self.closing.cancelled() => return Ok(Vec::new()),
                    () = listener.woken() => {
                        pause = SHORTEST_PAUSE;
                        break;
                    }
                    () = sleep(nap.min(until_end)) => {}
                }
                if deadline <= Instant::now() {
                    return Ok(Vec::new());
                }
                pause = (pause * 2).min(self.settings.poll_interval);
                let look = pin!(self.settled(|| self.look(request)));
                due_in = match self.unless_cancelled(request, look).await {
                    Some(due_in) => due_in?,
                    None => return Ok(Vec::new()),
                };
                if due_in.is_zero() {
                    break;
                }
            }
        }
    }

    /// The answer, or nothing when the request is cancelled and the answer does not come soon
    /// after. A transaction that is given up so is undone by the server, or its leases run out.
    async fn unless_cancelled<T>(
        &self,
        request: &ReserveRequest,
        mut call: Pin<&mut impl Future<Output = T>>,
    ) -> Option<T> {
        tokio::select! {
            biased;
            answer = &mut call => return Some(answer),
            () = request.cancel.cancelled() => {}
            () = self.closing.cancelled() => {}
        }
        timeout(LAST_WORDS, call).await.ok()
    }

    async fn claim(&self, request: &ReserveRequest) -> Result<Claim, Fault> {
        self.settled(|| async {
            let mut session = self.connections.session(Duration::ZERO).await?;
            let claim = Claiming::new(self, request).run(&mut session).await;
            if claim.is_err() {
                // What was found is not taken after all.
                self.floors
                    .forget(request.queues.iter().map(|share| &share.queue));
            }
            claim
        })
        .await
    }

    /// How long until a job of these queues becomes visible; zero when one is.
    async fn look(&self, request: &ReserveRequest) -> Result<Duration, Fault> {
        let mut session = self.connections.session(Duration::ZERO).await?;
        let mut looks = Vec::new();
        for share in &request.queues {
            looks.push(self.sql.look.with(&[("queue", &Name(&share.queue))]));
        }
        let answers = session
            .finish(Message::of(&looks.join(" UNION ALL ")))
            .await?;
        let mut first = Duration::MAX;
        for row in answers.iter().flat_map(|answer| &answer.rows) {
            first = first.min(clock::duration(row::get(row, "due_in")?));
        }
        Ok(first)
    }
}

/// One transaction that takes jobs.
struct Claiming<'a> {
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
    fn new(shared: &'a Shared, request: &'a ReserveRequest) -> Self {
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

    async fn run(mut self, session: &mut Session<'_>) -> Result<Claim, Fault> {
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
