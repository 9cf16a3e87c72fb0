//! Ending and extending leases.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt::Write,
    time::Duration,
};

use goqueue_core::{
    JobId, QueueName,
    dead_letter::DeadReason,
    driver::{Lease, LeaseOutcome, Settlement, Verdict},
};
use sqlx::mysql::MySqlRow;

use crate::{
    clock,
    connections::Session,
    error::Fault,
    lanes::{self, Candidate, Lane},
    row,
    shared::Shared,
    sql::{Hex, Message, joined, list},
    token::Token,
    unique::{self, Key},
};

/// The longest error text that is stored, in bytes: what a `TEXT` holds.
const MAX_ERROR: usize = 65_535;

/// An end that is to be written down.
#[derive(Clone, Copy, Debug)]
struct End<'a> {
    token: Token,
    verdict: &'a Verdict,
}

impl Shared {
    pub(crate) async fn settle(
        &self,
        settlements: &[Settlement],
    ) -> Result<Vec<LeaseOutcome>, Fault> {
        let mut seen = HashSet::new();
        let ends: Vec<Option<End<'_>>> = settlements
            .iter()
            .map(|Settlement { lease, verdict }| {
                let token = Token::of(lease)?;
                // Whatever comes second for one delivery comes too late.
                seen.insert(delivery(token))
                    .then_some(End { token, verdict })
            })
            .collect();
        let known: Vec<End<'_>> = ends.iter().flatten().copied().collect();
        if known.is_empty() {
            return Ok(vec![LeaseOutcome::Lost; settlements.len()]);
        }
        let held = self.settled(|| self.end(&known)).await?;
        self.wake_for_ended(settlements, &ends, &held);
        Ok(ends
            .iter()
            .map(|end| outcome(end.map(|end| end.token), &held))
            .collect())
    }

    /// Wakes the reservations that wait for a job that is due again at once, and makes them look in
    /// front where it is.
    fn wake_for_ended(
        &self,
        settlements: &[Settlement],
        ends: &[Option<End<'_>>],
        held: &HashSet<Delivery>,
    ) {
        for (Settlement { lease, verdict }, end) in settlements.iter().zip(ends) {
            if !end.is_some_and(|end| held.contains(&delivery(end.token))) {
                continue;
            }
            match verdict {
                Verdict::Release { delay } if delay.is_zero() => {
                    self.floors.forget([&lease.queue]);
                    self.waiters.wake([&lease.queue]);
                }
                Verdict::Retry { delay, .. } if delay.is_zero() => {
                    self.waiters.wake([&lease.queue]);
                }
                _ => {}
            }
        }
    }

    /// Writes ends down. Answers which of the leases held.
    async fn end(&self, ends: &[End<'_>]) -> Result<HashSet<Delivery>, Fault> {
        let mut session = self.connections.session(Duration::ZERO).await?;
        let is_plain =
            |end: &End<'_>| !end.token.is_keyed && !matches!(end.verdict, Verdict::Dead { .. });
        if ends.iter().all(is_plain)
            && let Some(held) = self.end_plain(&mut session, ends).await?
        {
            return Ok(held);
        }
        self.end_any(&mut session, ends).await
    }

    /// Ends that touch nothing but the jobs' rows. Leases are hardly ever lost, so it goes ahead
    /// and looks at the numbers afterwards; when they are not as expected it undoes everything and
    /// answers nothing.
    async fn end_plain(
        &self,
        session: &mut Session<'_>,
        ends: &[End<'_>],
    ) -> Result<Option<HashSet<Delivery>>, Fault> {
        let mut message = Message::new();
        if let [end] = ends {
            // One statement is a transaction of its own, and its number says everything.
            let [place] = self.put_ends(&mut message, ends)[..] else {
                return Ok(None);
            };
            let answers = session.finish(message).await?;
            let is_held = answers[place].matched == 1;
            let held = is_held.then(|| delivery(end.token));
            return Ok(Some(held.into_iter().collect()));
        }
        message.put(&self.sql.begin, &[]);
        let places = self.put_ends(&mut message, ends);
        let answers = session.open(message).await?;
        let matched: u64 = places.iter().map(|place| answers[*place].matched).sum();
        if matched != ends.len() as u64 {
            session.roll_back().await;
            return Ok(None);
        }
        let mut message = Message::new();
        message.put(&self.sql.commit, &[]);
        session.finish(message).await?;
        Ok(Some(ends.iter().map(|end| delivery(end.token)).collect()))
    }

    /// Ends of any kind: first which leases hold, then everything about those.
    async fn end_any(
        &self,
        session: &mut Session<'_>,
        ends: &[End<'_>],
    ) -> Result<HashSet<Delivery>, Fault> {
        let mut message = Message::new();
        message.put(&self.sql.begin, &[]);
        let seqs = list(ends.iter().map(|end| end.token.seq));
        let locked = message.put(&self.sql.lock_jobs, &[("seqs", &seqs)]);
        let answers = session.open(message).await?;
        let mut jobs = BTreeMap::new();
        for row in &answers[locked].rows {
            let job = Job::read(row)?;
            jobs.insert(job.seq, job);
        }
        let held: Vec<End<'_>> = ends
            .iter()
            .filter(|end| {
                let job = jobs.get(&end.token.seq);
                job.is_some_and(|job| job.is_leased && job.token == end.token.number)
            })
            .copied()
            .collect();

        let mut message = Message::new();
        let is_over = |end: &&End<'_>| matches!(end.verdict, Verdict::Ack | Verdict::Dead { .. });
        let over = held
            .iter()
            .filter(is_over)
            .filter_map(|end| jobs.get(&end.token.seq));
        let (mut candidates, mut keys) = (Vec::new(), Vec::new());
        for job in over {
            candidates.extend(
                job.lane
                    .clone()
                    .map(|lane| Candidate { lane, seq: job.seq }),
            );
            keys.extend(job.key.clone());
        }
        let lanes: BTreeSet<Lane> = candidates.iter().map(|c| c.lane.clone()).collect();
        let mut moved_on = BTreeSet::new();
        if !lanes.is_empty() {
            let locked = lanes::lock(session, &self.sql, &lanes).await?;
            moved_on = lanes::leave(session, &self.sql, &candidates, &locked, &mut message).await?;
        }
        if !keys.is_empty() {
            message.put(
                &self.sql.free_keys,
                &[("keys", &unique::rows_of(&mut keys))],
            );
        }
        self.put_ends(&mut message, &held);
        message.put(&self.sql.commit, &[]);
        session.finish(message).await?;
        self.floors.forget(&moved_on);
        self.waiters.wake(&moved_on);
        Ok(held.iter().map(|end| delivery(end.token)).collect())
    }

    /// Puts what ends mean for the jobs' own rows into a message. Answers where the numbers of
    /// jobs are.
    fn put_ends(&self, message: &mut Message, ends: &[End<'_>]) -> Vec<usize> {
        let (mut over, mut retries, mut releases, mut dead) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for End { token, verdict } in ends {
            match verdict {
                Verdict::Ack => over.push(*token),
                Verdict::Retry { delay, error } => {
                    retries.push((token, clock::delay(*delay), shortened(error)));
                }
                Verdict::Release { delay } => releases.push((token, clock::delay(*delay))),
                Verdict::Dead { reason, error } => {
                    over.push(*token);
                    dead.push((token, reason, shortened(error)));
                }
            }
        }
        let mut places = Vec::new();
        if !dead.is_empty() {
            let verdicts = joined(dead, UNION, |text, (token, reason, error)| {
                let (seq, reason) = (token.seq, DeadReason::as_str(reason));
                write!(
                    text,
                    "SELECT {seq} AS seq, '{reason}' AS reason, {} AS error",
                    Hex(error.as_bytes())
                )
            });
            message.put(&self.sql.bury, &[("verdicts", &verdicts)]);
        }
        if !over.is_empty() {
            let leases = leases(&over);
            places.push(message.put(&self.sql.delete_jobs, &[("leases", &leases)]));
        }
        if !retries.is_empty() {
            let verdicts = joined(retries, UNION, |text, (token, delay, error)| {
                let Token { seq, number, .. } = token;
                write!(
                    text,
                    "SELECT {seq} AS seq, {number} AS token, {delay} AS delay, {} AS error",
                    Hex(error.as_bytes())
                )
            });
            places.push(message.put(&self.sql.retry, &[("verdicts", &verdicts)]));
        }
        if !releases.is_empty() {
            let verdicts = joined(releases, UNION, |text, (token, delay)| {
                let Token { seq, number, .. } = token;
                write!(
                    text,
                    "SELECT {seq} AS seq, {number} AS token, {delay} AS delay"
                )
            });
            places.push(message.put(&self.sql.release, &[("verdicts", &verdicts)]));
        }
        places
    }

    pub(crate) async fn extend(
        &self,
        leases: &[Lease],
        by: Duration,
    ) -> Result<Vec<LeaseOutcome>, Fault> {
        let tokens: Vec<Option<Token>> = leases.iter().map(Token::of).collect();
        let known: HashSet<Token> = tokens.iter().flatten().copied().collect();
        let known: Vec<Token> = known.into_iter().collect();
        if known.is_empty() {
            return Ok(vec![LeaseOutcome::Lost; leases.len()]);
        }
        let held = self.settled(|| self.extend_known(&known, by)).await?;
        Ok(tokens
            .into_iter()
            .map(|token| outcome(token, &held))
            .collect())
    }

    async fn extend_known(
        &self,
        tokens: &[Token],
        by: Duration,
    ) -> Result<HashSet<Delivery>, Fault> {
        let mut session = self.connections.session(Duration::ZERO).await?;
        let leases = leases(tokens);
        let mut message = Message::new();
        let lease = clock::millis(by);
        let extended = message.put(&self.sql.extend, &[("leases", &leases), ("lease", &lease)]);
        let answers = session.finish(message).await?;
        if answers[extended].matched == tokens.len() as u64 {
            return Ok(tokens.iter().map(|token| delivery(*token)).collect());
        }
        let mut message = Message::new();
        let held = message.put(&self.sql.held_leases, &[("leases", &leases)]);
        let answers = session.finish(message).await?;
        answers[held]
            .rows
            .iter()
            .map(|row| Ok((row::get(row, "seq")?, row::get(row, "token")?)))
            .collect()
    }
}

const UNION: &str = " UNION ALL ";

/// A row and which delivery of it. One call may be about several deliveries of a row, of which only the
/// last can hold.
type Delivery = (u64, u32);

fn delivery(token: Token) -> Delivery {
    (token.seq, token.number)
}

fn outcome(token: Option<Token>, held: &HashSet<Delivery>) -> LeaseOutcome {
    match token {
        Some(token) if held.contains(&delivery(token)) => LeaseOutcome::Done,
        _ => LeaseOutcome::Lost,
    }
}

/// What is true of exactly the rows whose leases these are. Most deliveries are first ones, so
/// grouping by their numbers leaves one or two lists.
fn leases(tokens: &[Token]) -> String {
    let mut groups: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for token in tokens {
        groups.entry(token.number).or_default().push(token.seq);
    }
    let groups = joined(groups, " OR ", |text, (number, seqs)| {
        write!(text, "(token = {number} AND seq IN ({}))", list(seqs))
    });
    format!("leased = 1 AND ({groups})")
}

/// As much of an error as a column holds.
pub(crate) fn shortened(error: &str) -> &str {
    let end = (0..=error.len().min(MAX_ERROR))
        .rev()
        .find(|at| error.is_char_boundary(*at));
    &error[..end.unwrap_or_default()]
}

/// What has to be known of a job to end it.
struct Job {
    seq: u64,
    token: u32,
    is_leased: bool,
    lane: Option<Lane>,
    key: Option<Key>,
}

impl Job {
    fn read(row: &MySqlRow) -> Result<Self, Fault> {
        let (id, queue): (JobId, QueueName) = (row::id(row)?, row::queue(row)?);
        let key: Option<Vec<u8>> = row::get(row, "unique_key")?;
        Ok(Self {
            seq: row::get(row, "seq")?,
            token: row::get(row, "token")?,
            is_leased: row::get::<i64>(row, "leased")? != 0,
            lane: lanes::lane(row)?,
            key: key.map(|key| Key { queue, key, id }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_are_grouped_by_delivery() {
        let token = |seq, number| Token {
            seq,
            number,
            is_keyed: false,
        };
        let text = leases(&[token(3, 1), token(1, 2), token(2, 1)]);
        assert_eq!(
            text,
            "leased = 1 AND ((token = 1 AND seq IN (3,2)) OR (token = 2 AND seq IN (1)))"
        );
    }

    #[test]
    fn a_long_error_is_cut_at_a_character() {
        assert_eq!(shortened("short"), "short");
        let long = "é".repeat(MAX_ERROR);
        assert_eq!(shortened(&long).len(), MAX_ERROR - 1);
    }
}
