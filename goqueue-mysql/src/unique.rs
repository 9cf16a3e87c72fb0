//! Unique keys: one row per key that is taken.

use std::collections::HashMap;

use goqueue_core::{JobId, QueueName, driver::NewJob};
use sqlx::{MySqlConnection, mysql::MySqlRow};

use crate::{
    clock,
    connections::send,
    error::Fault,
    hash, row,
    sql::{Hex, Message, Name, Statements, joined},
};

/// Who has which key.
pub(crate) type Holders = HashMap<(QueueName, Vec<u8>), JobId>;

/// Takes the keys of `jobs`, in a transaction that is open. Answers who has them now: a job that is
/// not its own key's holder is a duplicate.
pub(crate) async fn take(
    connection: &mut MySqlConnection,
    sql: &Statements,
    jobs: &[NewJob],
    queueing: Queueing,
) -> Result<Holders, Fault> {
    // In one order for everybody, so that two transactions do not wait for each other. The sort is
    // stable: of two jobs with one key the first has it.
    let mut keyed: Vec<_> = jobs
        .iter()
        .filter_map(|job| Some((job, job.unique.as_ref()?)))
        .collect();
    if keyed.is_empty() {
        return Ok(Holders::new());
    }
    keyed.sort_by_key(|(job, unique)| (&job.queue, &unique.key));
    let rows = joined(&keyed, ",", |text, (job, unique)| {
        use std::fmt::Write;
        write!(
            text,
            "({}, {}, {}, {} + {}, {})",
            Name(&job.queue),
            Hex(unique.key.as_bytes()),
            Hex(job.id.as_uuid().as_bytes()),
            clock::NOW,
            clock::delay(unique.hold),
            clock::NEVER
        )
    });
    let keys = keys(
        keyed
            .iter()
            .map(|(job, unique)| (&job.queue, unique.key.as_bytes())),
    );
    let mut message = Message::new();
    let lock = match (queueing, &keyed[..]) {
        (Queueing::One, [(job, unique)]) => Some(lock_name(sql, &job.queue, &unique.key)),
        _ => None,
    };
    if let Some(lock) = &lock {
        message.put(
            &sql.stand_in_line,
            &[("lock", lock), ("seconds", &LONGEST_LINE)],
        );
    }
    message.put(&sql.take_keys, &[("rows", &rows)]);
    let found = message.put(&sql.key_holders, &[("keys", &keys)]);
    if let Some(lock) = &lock {
        message.put(&sql.leave_line, &[("lock", lock)]);
    }
    let answers = send(connection, message).await;
    if let (Err(_), Some(lock)) = (&answers, lock) {
        // What came after the statement that failed was not run.
        let mut message = Message::new();
        message.put(&sql.leave_line, &[("lock", &lock)]);
        let _ = send(connection, message).await;
    }
    holders(&answers?[found].rows)
}

/// How the statement that takes keys waits for open transactions that have just taken them.
///
/// When such a transaction rolls back, everyone who waits for its key is let go at once, each with
/// a lock on the gap where the row was, and all but one have to be undone as a deadlock. The driver
/// can repeat its own transactions, but not the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queueing {
    /// Beside others.
    All,
    /// One at a time, for a single job. The line is a named lock, which is left as soon as the
    /// statement is over.
    One,
}

/// How long to stand in line, in seconds, before joining those who do not.
const LONGEST_LINE: u32 = 20;

fn lock_name(sql: &Statements, queue: &QueueName, key: &str) -> String {
    let name = format!("{}\0{queue}\0{key}", sql.prefix);
    format!("mysql-goqueue-key-{:016x}", hash::fnv1a(name.bytes()))
}

/// Who has the keys of `jobs` at this moment. Locks nothing.
pub(crate) fn look_up(sql: &Statements, jobs: &[NewJob]) -> Option<Message> {
    let mut keyed = jobs
        .iter()
        .filter_map(|job| Some((job, job.unique.as_ref()?)))
        .peekable();
    keyed.peek()?;
    let keys = keys(keyed.map(|(job, unique)| (&job.queue, unique.key.as_bytes())));
    let mut message = Message::new();
    message.put(&sql.taken_keys, &[("keys", &keys)]);
    Some(message)
}

pub(crate) fn holders(rows: &[MySqlRow]) -> Result<Holders, Fault> {
    let holder = |row| {
        let key: Vec<u8> = row::get(row, "unique_key")?;
        Ok(((row::queue(row)?, key), row::id(row)?))
    };
    rows.iter().map(holder).collect()
}

fn keys<'a>(keys: impl Iterator<Item = (&'a QueueName, &'a [u8])>) -> String {
    use std::fmt::Write;
    joined(keys, " OR ", |text, (queue, key)| {
        write!(
            text,
            "(queue = {} AND unique_key = {})",
            Name(queue),
            Hex(key)
        )
    })
}

/// A unique key and the job that has it.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) queue: QueueName,
    pub(crate) key: Vec<u8>,
    pub(crate) id: JobId,
}

/// The rows of these keys, as far as those jobs still have them.
pub(crate) fn rows_of(keys: &mut [Key]) -> String {
    use std::fmt::Write;
    keys.sort_by(|a, b| (&a.queue, &a.key).cmp(&(&b.queue, &b.key)));
    joined(keys.iter(), " OR ", |text, Key { queue, key, id }| {
        let id = id.as_uuid();
        let (queue, key, id) = (Name(queue), Hex(key), Hex(id.as_bytes()));
        write!(
            text,
            "(queue = {queue} AND unique_key = {key} AND id = {id})"
        )
    })
}
