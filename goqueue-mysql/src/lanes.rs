//! Ordering keys: jobs of one key run one at a time, in the order of their pushes.
//!
//! A *lane* is an ordering key of a queue that is in use. Its row says which job may run; the others
//! are held, that is, not visible. A push only adds to the end of a lane and locks nothing, so
//! producers never wait for each other or for workers.
//!
//! - A reservation that comes upon a job of a lane takes it when it is the lane's, and otherwise
//!   holds it. To hold it needs the lane's lock, since whoever ends the lane's job decides under
//!   that lock which job is next. It never waits for the lock: a lane that is being moved on is left
//!   alone, and its jobs stay visible for the next reservation.
//! - Whoever ends a lane's job locks the lane, makes the oldest job left the lane's, and shows it;
//!   without one the lane goes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{Display, Write},
};

use goqueue_core::QueueName;
use sqlx::mysql::MySqlRow;

use crate::{
    connections::Session,
    error::Fault,
    row,
    sql::{Hex, Message, Name, Statements, joined, list},
};

/// How many lanes of a queue one pass mends.
pub(crate) const MOST_MENDED: u64 = 500;

/// An ordering key of a queue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane {
    pub(crate) queue: QueueName,
    pub(crate) key: Vec<u8>,
}

/// A job that a reservation came upon in a lane.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) lane: Lane,
    pub(crate) seq: u64,
}

/// What becomes of candidates.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    /// May run.
    pub(crate) take: BTreeSet<u64>,
    /// Have to wait for their turn.
    pub(crate) hold: BTreeSet<u64>,
}

/// Decides about candidates whose rows the open transaction has locked. What it does not mention is
/// left alone for now. What it decides about the lanes is put into `message`, to be sent before the
/// transaction ends.
pub(crate) async fn sort_out(
    session: &mut Session<'_>,
    sql: &Statements,
    candidates: &[Candidate],
    message: &mut Message,
) -> Result<Sorted, Fault> {
    let mut sorted = Sorted::default();
    let lanes: BTreeSet<&Lane> = candidates.iter().map(|candidate| &candidate.lane).collect();
    let mut question = Message::new();
    let read = question.put(
        &sql.read_lanes,
        &[("lanes", &where_lanes(lanes.iter().copied()))],
    );
    let seen = pointers(&session.open(question).await?[read].rows)?;

    // A job that is its lane's stays so while this transaction has its row.
    let is_its_turn = |c: &&Candidate| seen.get(&c.lane) == Some(&c.seq);
    sorted
        .take
        .extend(candidates.iter().filter(is_its_turn).map(|c| c.seq));
    let others: Vec<_> = candidates.iter().filter(|c| !is_its_turn(c)).collect();
    if others.is_empty() {
        return Ok(sorted);
    }

    let contested: BTreeSet<&Lane> = others.iter().map(|candidate| &candidate.lane).collect();
    let missing: Vec<_> = contested
        .iter()
        .filter(|lane| !seen.contains_key(lane))
        .copied()
        .collect();
    let mut question = Message::new();
    if !missing.is_empty() {
        let rows = points(missing.iter().map(|lane| (*lane, 0)));
        question.put(&sql.open_lanes, &[("rows", &rows)]);
    }
    let lanes = where_lanes(contested.iter().copied());
    let locked = question.put(&sql.try_lock_lanes, &[("lanes", &lanes)]);
    let first = if missing.is_empty() {
        None
    } else {
        let lanes = where_lanes(missing.iter().copied());
        Some(question.put(&sql.first_in_lanes, &[("lanes", &lanes)]))
    };
    let answers = session.open(question).await?;
    let mut locked = pointers(&answers[locked].rows)?;
    let first = match first {
        Some(first) => pointers(&answers[first].rows)?,
        None => BTreeMap::new(),
    };

    let mut opened = BTreeMap::new();
    for (lane, pointer) in locked.iter_mut().filter(|(_, pointer)| **pointer == 0) {
        // Without an entry of its own somebody added the job by hand: it is as good as the first.
        let oldest = others
            .iter()
            .filter(|c| c.lane == *lane)
            .map(|c| c.seq)
            .min();
        *pointer = first.get(lane).copied().or(oldest).unwrap_or_default();
        opened.insert(lane.clone(), *pointer);
    }
    if !opened.is_empty() {
        let rows = points(opened.iter().map(|(lane, seq)| (lane, *seq)));
        message.put(&sql.point_lanes, &[("rows", &rows)]);
    }
    for candidate in others {
        match locked.get(&candidate.lane) {
            Some(pointer) if *pointer == candidate.seq => sorted.take.insert(candidate.seq),
            Some(_) => sorted.hold.insert(candidate.seq),
            None => false,
        };
    }
    Ok(sorted)
}

/// Locks lanes whose jobs have ended. Answers which job may run in each.
pub(crate) async fn lock(
    session: &mut Session<'_>,
    sql: &Statements,
    lanes: &BTreeSet<Lane>,
) -> Result<BTreeMap<Lane, u64>, Fault> {
    let mut question = Message::new();
    let locked = question.put(&sql.lock_lanes, &[("lanes", &where_lanes(lanes))]);
    pointers(&session.open(question).await?[locked].rows)
}

/// Locks the lanes that nobody is moving on, making those that are not there. Answers which job
/// may run in each; 0 is none yet.
pub(crate) async fn lock_or_open(
    session: &mut Session<'_>,
    sql: &Statements,
    lanes: &BTreeSet<Lane>,
) -> Result<BTreeMap<Lane, u64>, Fault> {
    let mut question = Message::new();
    let read = question.put(&sql.read_lanes, &[("lanes", &where_lanes(lanes))]);
    let there = pointers(&session.open(question).await?[read].rows)?;
    let missing: Vec<&Lane> = lanes
        .iter()
        .filter(|lane| !there.contains_key(lane))
        .collect();
    let mut question = Message::new();
    if !missing.is_empty() {
        let rows = points(missing.into_iter().map(|lane| (lane, 0)));
        question.put(&sql.open_lanes, &[("rows", &rows)]);
    }
    let locked = question.put(&sql.try_lock_lanes, &[("lanes", &where_lanes(lanes))]);
    pointers(&session.open(question).await?[locked].rows)
}

/// Takes jobs that have ended out of their lanes, which are `locked`, and moves the lanes on.
/// Answers the queues in which a job came to be shown. What is left to do is put into `message`.
pub(crate) async fn leave(
    session: &mut Session<'_>,
    sql: &Statements,
    ended: &[Candidate],
    locked: &BTreeMap<Lane, u64>,
    message: &mut Message,
) -> Result<BTreeSet<QueueName>, Fault> {
    let places = joined(ended, " OR ", |text, Candidate { lane, seq }| {
        let (queue, key) = (Name(&lane.queue), Hex(&lane.key));
        write!(
            text,
            "(queue = {queue} AND ordering_key = {key} AND seq = {seq})"
        )
    });
    let gone: BTreeSet<u64> = ended.iter().map(|candidate| candidate.seq).collect();
    let is_free = |pointer: &u64| *pointer == 0 || gone.contains(pointer);
    let moving: Vec<&Lane> = locked
        .iter()
        .filter(|(_, pointer)| is_free(pointer))
        .map(|(lane, _)| lane)
        .collect();
    let mut question = Message::new();
    question.put(&sql.leave_lanes, &[("places", &places)]);
    let first = if moving.is_empty() {
        None
    } else {
        let lanes = where_lanes(moving.iter().copied());
        Some(question.put(&sql.first_in_lanes, &[("lanes", &lanes)]))
    };
    let answers = session.open(question).await?;
    let Some(first) = first else {
        return Ok(BTreeSet::new());
    };
    let next = pointers(&answers[first].rows)?;

    let empty: Vec<&Lane> = moving
        .into_iter()
        .filter(|lane| !next.contains_key(lane))
        .collect();
    if !empty.is_empty() {
        message.put(&sql.close_lanes, &[("lanes", &where_lanes(empty))]);
    }
    if !next.is_empty() {
        let rows = points(next.iter().map(|(lane, seq)| (lane, *seq)));
        message.put(&sql.point_lanes, &[("rows", &rows)]);
        message.put(&sql.unhold, &[("seqs", &list(next.values().copied()))]);
    }
    Ok(next.into_keys().map(|lane| lane.queue).collect())
}

/// Puts lanes whose job is gone without a trace back to work: those of `suspects` that are still so
/// once they are locked.
pub(crate) async fn mend(
    session: &mut Session<'_>,
    sql: &Statements,
    suspects: &BTreeSet<Lane>,
    message: &mut Message,
) -> Result<(), Fault> {
    let mut question = Message::new();
    let locked = question.put(&sql.try_lock_lanes, &[("lanes", &where_lanes(suspects))]);
    let queues: BTreeSet<&QueueName> = suspects.iter().map(|lane| &lane.queue).collect();
    let mut orphaned = Vec::new();
    for queue in queues {
        let values: &[(&str, &dyn Display)] = &[("queue", &Name(queue)), ("limit", &MOST_MENDED)];
        orphaned.push(question.put(&sql.orphaned_lanes, values));
    }
    let answers = session.open(question).await?;
    let mut orphans = BTreeSet::new();
    for row in orphaned.into_iter().flat_map(|place| &answers[place].rows) {
        orphans.extend(lane(row)?);
    }
    let mut locked = pointers(&answers[locked].rows)?;
    locked.retain(|lane, _| orphans.contains(lane));
    let ended: Vec<_> = locked
        .iter()
        .map(|(lane, seq)| Candidate {
            lane: lane.clone(),
            seq: *seq,
        })
        .collect();
    if !ended.is_empty() {
        leave(session, sql, &ended, &locked, message).await?;
    }
    Ok(())
}

pub(crate) fn lane(row: &MySqlRow) -> Result<Option<Lane>, Fault> {
    let key: Option<Vec<u8>> = row::get(row, "ordering_key")?;
    key.map(|key| {
        Ok(Lane {
            queue: row::queue(row)?,
            key,
        })
    })
    .transpose()
}

fn pointers(rows: &[MySqlRow]) -> Result<BTreeMap<Lane, u64>, Fault> {
    let pointer = |row| {
        let seq = row::get(row, "seq")?;
        Ok(lane(row)?.map(|lane| (lane, seq)))
    };
    rows.iter()
        .filter_map(|row| pointer(row).transpose())
        .collect()
}

fn where_lanes<'a>(lanes: impl IntoIterator<Item = &'a Lane>) -> String {
    joined(lanes, " OR ", |text, lane| {
        let (queue, key) = (Name(&lane.queue), Hex(&lane.key));
        write!(text, "(queue = {queue} AND ordering_key = {key})")
    })
}

fn points<'a>(lanes: impl Iterator<Item = (&'a Lane, u64)>) -> String {
    joined(lanes, ",", |text, (lane, seq)| {
        write!(text, "({}, {}, {seq})", Name(&lane.queue), Hex(&lane.key))
    })
}
