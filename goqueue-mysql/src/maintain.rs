//! Upkeep: retention, and what nobody else cleans up. Leases that run out and jobs that become due
//! need none: both are visible by themselves.

use std::{collections::BTreeSet, time::Duration};

use goqueue_core::{QueueName, driver::Maintenance};

use crate::{
    clock,
    error::Fault,
    lanes::{self, Lane},
    row,
    shared::Shared,
    sql::{Message, Name, list},
};

/// How many rows of a kind one pass removes for each queue.
const MOST: u64 = 500;
/// How often there is something to do.
const EVERY: Duration = Duration::from_secs(30);

impl Shared {
    pub(crate) async fn ping(&self) -> Result<(), Fault> {
        self.answered(async {
            let mut session = self.connections.session(Duration::ZERO).await?;
            session.finish(Message::of("SELECT 1")).await?;
            Ok(())
        })
        .await
    }

    pub(crate) async fn maintain(&self, queues: &[QueueName]) -> Result<Maintenance, Fault> {
        if queues.is_empty() {
            return Ok(Maintenance {
                next: EVERY,
                ..Maintenance::default()
            });
        }
        self.settled(|| self.pass(queues)).await
    }

    async fn pass(&self, queues: &[QueueName]) -> Result<Maintenance, Fault> {
        let mut session = self.connections.session(Duration::ZERO).await?;
        let mut message = Message::new();
        let mut places = Vec::new();
        let retention = clock::millis(self.retention);
        for queue in queues {
            let queue = Name(queue);
            let letters = message.put(
                &self.sql.drop_letters,
                &[
                    ("queue", &queue),
                    ("retention", &retention),
                    ("limit", &MOST),
                ],
            );
            let keys = message.put(
                &self.sql.drop_free_keys,
                &[("queue", &queue), ("limit", &MOST)],
            );
            let lanes = message.put(
                &self.sql.orphaned_lanes,
                &[("queue", &queue), ("limit", &lanes::MOST_MENDED)],
            );
            let jobs = message.put(
                &self.sql.orphaned_jobs,
                &[("queue", &queue), ("limit", &lanes::MOST_MENDED)],
            );
            places.push((letters, keys, lanes, jobs));
        }
        let answers = session.finish(message).await?;
        let mut done = Maintenance {
            next: EVERY,
            ..Maintenance::default()
        };
        let mut orphans: BTreeSet<Lane> = BTreeSet::new();
        let mut stuck: Vec<u64> = Vec::new();
        for (letters, keys, lanes, jobs) in places {
            done.purged += answers[letters].matched;
            if answers[letters].matched == MOST || answers[keys].matched == MOST {
                done.next = Duration::ZERO;
            }
            for row in &answers[lanes].rows {
                orphans.extend(lanes::lane(row)?);
            }
            for row in &answers[jobs].rows {
                stuck.push(row::get(row, "seq")?);
            }
        }
        if !stuck.is_empty() {
            tracing::warn!(
                jobs = stuck.len(),
                "jobs that wait for their turn behind nobody"
            );
            let mut message = Message::new();
            message.put(&self.sql.unhold, &[("seqs", &list(stuck))]);
            session.finish(message).await?;
        }
        if !orphans.is_empty() {
            // Behind one job that is gone there may be another.
            done.next = Duration::ZERO;
            tracing::warn!(
                lanes = orphans.len(),
                "ordering keys whose job was deleted by hand"
            );
            let mut message = Message::new();
            message.put(&self.sql.begin, &[]);
            session.open(message).await?;
            let mut message = Message::new();
            lanes::mend(&mut session, &self.sql, &orphans, &mut message).await?;
            message.put(&self.sql.commit, &[]);
            session.finish(message).await?;
        }
        Ok(done)
    }
}
