//! Storing a job under a lease at once, for a reservation of the same driver that waits for it: one
//! commit where a push and a claim take two.

use std::{sync::Arc, time::Duration};

use goqueue_core::driver::{Lease, NewJob, PushOutcome, Recipient, Reserved, Settlement, Verdict};
use sqlx::AssertSqlSafe;

use crate::{clock, error::Fault, push::PATIENCE, shared::Shared, token::Token};

/// The attempt and the token, as `insert_held.sql` says.
const FIRST: u32 = 1;

impl Shared {
    /// Somebody who waits for this job, unless it might overtake one whose commit was not heard of.
    /// The name of its queue has to be written down already, which a claim does.
    pub(crate) fn recipient(&self, job: &NewJob) -> Option<Recipient> {
        let is_known = self.unknown_queues([&job.queue]).is_empty();
        if !is_known || self.has_commits_elsewhere(&job.queue) || self.refusal(job).is_some() {
            return None;
        }
        self.waiters.recipient(job)
    }

    /// Stores a job and hands it over.
    pub(crate) async fn push_for(
        self: &Arc<Self>,
        job: &NewJob,
        recipient: Recipient,
    ) -> Result<PushOutcome, Fault> {
        let (shared, job) = (Arc::clone(self), job.clone());
        // Whoever enqueues may stop waiting for the answer; the job must reach its worker all the
        // same.
        let stored = tokio::spawn(async move {
            let _in_flight = shared.in_flight.token();
            shared.store_for(job, recipient).await
        });
        match stored.await {
            Ok(stored) => stored.map(|()| PushOutcome::Stored),
            Err(ended) => Err(Fault::Unusable(format!("the call did not end: {ended}"))),
        }
    }

    async fn store_for(&self, job: NewJob, recipient: Recipient) -> Result<(), Fault> {
        let lease = recipient.lease();
        let seq = self.settled(|| self.insert_held(&job, lease)).await?;
        let token = Token {
            seq,
            number: FIRST,
            is_keyed: false,
        };
        let reserved = Reserved {
            body: job.body,
            attempt: FIRST,
            lease: Lease {
                token: token.on(&job.queue, job.id),
                queue: job.queue,
                id: job.id,
            },
        };
        if let Err(unwanted) = recipient.hand(reserved) {
            self.give_back(unwanted.lease).await;
        }
        Ok(())
    }

    /// Answers the row.
    async fn insert_held(&self, job: &NewJob, lease: Duration) -> Result<u64, Fault> {
        let mut session = self.connections.session(PATIENCE).await?;
        let connection = session.connection()?;
        let stored = sqlx::query(AssertSqlSafe(self.sql.insert_held.with(&[])))
            .bind(job.queue.as_str())
            .bind(&job.id.as_uuid().as_bytes()[..])
            .bind(&job.body[..])
            .bind(clock::millis(lease))
            .execute(connection)
            .await;
        match stored {
            Ok(stored) => {
                session.settled();
                Ok(stored.last_insert_id())
            }
            Err(error) => Err(session.failed(error.into()).await),
        }
    }

    /// Gives back a job that was handed over to nobody.
    pub(crate) async fn give_back(&self, lease: Lease) {
        let (id, delay) = (lease.id, Duration::ZERO);
        let verdict = Verdict::Release { delay };
        if let Err(fault) = self.settle(&[Settlement { lease, verdict }]).await {
            let error = fault.during("release");
            tracing::warn!(%error, %id, "a job that nobody waits for comes back when its lease ends");
        }
    }
}
