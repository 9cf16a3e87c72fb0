//! Storing jobs.

use std::{collections::HashMap, fmt::Write, sync::Arc, time::Duration};

use goqueue_core::{
    Error, QueueName,
    driver::{NewJob, PushOutcome, UniqueKey},
    job::MAX_KEY,
};
use sqlx::{AssertSqlSafe, MySqlConnection};

use crate::{
    clock,
    connections::send,
    driver::NAME,
    error::Fault,
    portions::portion,
    shared::Shared,
    sql::{Hex, Message, Name, Statements, joined},
    unique::{self, Holders, Queueing},
};

/// How long a push keeps trying to connect. Nothing is sent meanwhile, so nothing can be stored
/// twice.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// The most jobs that one statement stores.
const MOST_ROWS: usize = 32;
/// What a statement says of a job beside queue and body, without keys.
const AROUND: usize = 64;

/// One job of the statement that stores them.
fn values() -> String {
    format!("(?, ?, ?, ?, ?, {} + ?)", clock::NOW)
}

impl Shared {
    pub(crate) async fn push(self: &Arc<Self>, jobs: &[NewJob]) -> Result<Vec<PushOutcome>, Fault> {
        if let [job] = jobs
            && let Some(recipient) = self.recipient(job)
        {
            return Ok(vec![self.push_for(job, recipient).await?]);
        }
        let mut outcomes: Vec<Option<PushOutcome>> = jobs
            .iter()
            .map(|job| self.refusal(job).map(PushOutcome::Refused))
            .collect();
        let accepted: Vec<NewJob> = jobs
            .iter()
            .zip(&outcomes)
            .filter(|(_, outcome)| outcome.is_none())
            .map(|(job, _)| job.clone())
            .collect();
        if !accepted.is_empty() {
            let stored = self.settled(|| self.push_all(&accepted)).await?;
            let empty = outcomes.iter_mut().filter(|outcome| outcome.is_none());
            for (place, outcome) in empty.zip(stored) {
                *place = Some(outcome);
            }
        }
        self.wake_for_stored(jobs, &outcomes);
        Ok(outcomes.into_iter().flatten().collect())
    }

    async fn push_all(&self, jobs: &[NewJob]) -> Result<Vec<PushOutcome>, Fault> {
        let mut session = self.connections.session(PATIENCE).await?;
        let connection = session.connection()?;
        let work = async {
            if is_one_statement(jobs) {
                return store(connection, &self.sql, jobs, Queueing::All).await;
            }
            let mut begin = Message::new();
            begin.put(&self.sql.begin, &[]);
            send(connection, begin).await?;
            let outcomes = store(connection, &self.sql, jobs, Queueing::All).await?;
            let mut commit = Message::new();
            commit.put(&self.sql.commit, &[]);
            send(connection, commit).await?;
            Ok(outcomes)
        };
        match work.await {
            Ok(outcomes) => {
                session.settled();
                Ok(outcomes)
            }
            Err(fault) => Err(session.failed(fault).await),
        }
    }

    /// Why a job cannot be stored, whatever the state of the tables.
    pub(crate) fn refusal(&self, job: &NewJob) -> Option<Error> {
        let limit = self.capabilities.max_payload;
        if job.body.len() > limit {
            let name = job.id.to_string();
            return Some(Error::PayloadTooLarge {
                name,
                driver: NAME,
                size: job.body.len(),
                limit,
            });
        }
        let unique = job.unique.as_ref().map(|UniqueKey { key, .. }| key);
        for (what, key) in [
            ("ordering key", job.ordering_key.as_ref()),
            ("unique key", unique),
        ] {
            if let Some(key) = key.filter(|key| !(1..=MAX_KEY).contains(&key.len())) {
                let given = key.clone();
                return Some(Error::Invalid {
                    what,
                    given,
                    allowed: "1 to 256 bytes",
                });
            }
        }
        None
    }

    /// Wakes the reservations that wait for one of the jobs just stored.
    fn wake_for_stored(&self, jobs: &[NewJob], outcomes: &[Option<PushOutcome>]) {
        let is_ready = |(job, outcome): &(&NewJob, &Option<PushOutcome>)| {
            matches!(outcome, Some(PushOutcome::Stored)) && job.delay.is_zero()
        };
        let ready = jobs.iter().zip(outcomes).filter(is_ready);
        self.waiters.wake(ready.map(|(job, _)| &job.queue));
    }
}

fn is_one_statement(jobs: &[NewJob]) -> bool {
    let is_plain = |job: &NewJob| job.unique.is_none() && job.ordering_key.is_none();
    next_of(jobs) == jobs.len() && jobs.iter().all(is_plain)
}

/// How many of these jobs the next statement stores.
fn next_of<'a>(jobs: impl IntoIterator<Item = &'a NewJob>) -> usize {
    let size = |job: &NewJob| AROUND + job.queue.as_str().len() + job.body.len();
    portion(jobs.into_iter().map(size), MOST_ROWS)
}

/// Stores jobs, in a transaction that is open unless one statement does it.
pub(crate) async fn store(
    connection: &mut MySqlConnection,
    sql: &Statements,
    jobs: &[NewJob],
    queueing: Queueing,
) -> Result<Vec<PushOutcome>, Fault> {
    let holders = unique::take(connection, sql, jobs, queueing).await?;
    let mut taken = HashMap::new();
    let outcomes: Vec<_> = jobs
        .iter()
        .map(|job| outcome(job, &holders, &mut taken))
        .collect();
    let stored: Vec<&NewJob> = jobs
        .iter()
        .zip(&outcomes)
        .filter(|(_, outcome)| matches!(outcome, PushOutcome::Stored))
        .map(|(job, _)| job)
        .collect();
    let mut left = stored.as_slice();
    while !left.is_empty() {
        let (some, rest) = left.split_at(next_of(left.iter().copied()));
        insert(connection, sql, some).await?;
        left = rest;
    }
    Ok(outcomes)
}

/// `taken` has the keys that an earlier job of the batch has.
fn outcome<'a>(
    job: &'a NewJob,
    holders: &Holders,
    taken: &mut HashMap<(&'a QueueName, &'a str), ()>,
) -> PushOutcome {
    let Some(UniqueKey { key, .. }) = &job.unique else {
        return PushOutcome::Stored;
    };
    let holder = holders.get(&(job.queue.clone(), key.clone().into_bytes()));
    match holder {
        Some(holder) if *holder != job.id => PushOutcome::Duplicate(*holder),
        // The same job twice in one batch is its own duplicate.
        _ if taken.insert((&job.queue, key), ()).is_some() => PushOutcome::Duplicate(job.id),
        _ => PushOutcome::Stored,
    }
}

async fn insert(
    connection: &mut MySqlConnection,
    sql: &Statements,
    jobs: &[&NewJob],
) -> Result<(), Fault> {
    let row = values();
    let rows = joined(jobs, ", ", |text, _| text.write_str(&row));
    let text = sql.insert_jobs.with(&[("rows", &rows)]);
    let mut query = sqlx::query(AssertSqlSafe(text));
    for job in jobs {
        query = query
            .bind(job.queue.as_str())
            .bind(&job.id.as_uuid().as_bytes()[..])
            .bind(job.ordering_key.as_deref().map(str::as_bytes))
            .bind(job.unique.as_ref().map(|unique| unique.key.as_bytes()))
            .bind(&job.body[..])
            .bind(clock::delay(job.delay));
    }
    query.execute(&mut *connection).await?;

    let keyed = jobs
        .iter()
        .enumerate()
        .filter_map(|(n, job)| Some((n, job, job.ordering_key.as_ref()?)));
    let rows = joined(keyed, ", ", |text, (n, job, key)| {
        let (queue, key) = (Name(&job.queue), Hex(key.as_bytes()));
        write!(
            text,
            "({queue}, {key}, LAST_INSERT_ID() + {n} * @@auto_increment_increment)"
        )
    });
    if !rows.is_empty() {
        let mut message = Message::new();
        message.put(&sql.insert_lane_jobs, &[("rows", &rows)]);
        send(connection, message).await?;
    }
    Ok(())
}
