//! Storing a job under a lease at once, for a reservation of the same driver that waits for it.

use std::{sync::Arc, time::Duration};

use goqueue_core::driver::{
    Lease, LeaseToken, NewJob, PushOutcome, Recipient, Reserved, Settlement, Verdict,
};

use crate::{
    connection::Failed,
    driver::Inner,
    group::{Outcome, unanswered},
    push::millis,
    record::tail,
    reserve::new_token,
    scripts::{Args, PUSH_HELD},
};

impl Inner {
    /// Stores a job and hands it over, unless others are before it.
    pub(crate) async fn push_for(self: &Arc<Self>, job: NewJob, recipient: Recipient) -> Outcome {
        let inner = Arc::clone(self);
        // Whoever enqueues may stop waiting for the answer; the job must reach its worker all the
        // same.
        let stored = tokio::spawn(async move { inner.store_for(job, recipient).await });
        stored.await.unwrap_or_else(|_| Err(unanswered()))
    }

    async fn store_for(&self, job: NewJob, recipient: Recipient) -> Outcome {
        let is_undone = true;
        let _pass = self
            .gate
            .enter()
            .map_err(|error| Failed { error, is_undone })?;
        let keys = self.keys.of(&job.queue);
        // As the first job of a reservation, without a key.
        let token = new_token() + 2;
        let mut args = Args::with_capacity(4);
        args.bytes(&keys.channel)
            .owned(tail(&job))
            .number(millis(recipient.lease()))
            .owned(token.to_be_bytes().to_vec());
        let used = [
            keys.ready.as_str(),
            &keys.waiting,
            &keys.running,
            &keys.leases,
        ];
        let reply = self.send_push(&job.queue, &PUSH_HELD, &used, &args).await?;
        let is_held = reply.number().map_err(Failed::undecided)? == 1;
        if is_held {
            let (queue, id) = (job.queue, job.id);
            let token = LeaseToken::from(token);
            let reserved = Reserved {
                body: job.body,
                attempt: 1,
                lease: Lease { queue, id, token },
            };
            if let Err(unwanted) = recipient.hand(reserved) {
                self.give_back(unwanted.lease).await;
            }
        }
        Ok(PushOutcome::Stored)
    }

    /// Gives back a job that was handed over to nobody.
    pub(crate) async fn give_back(&self, lease: Lease) {
        let (id, delay) = (lease.id, Duration::ZERO);
        let verdict = Verdict::Release { delay };
        if let Err(error) = self.settle(&[Settlement { lease, verdict }]).await {
            tracing::warn!(%error, %id, "a job that nobody waits for comes back when its lease ends");
        }
    }
}
