//! Writes down what became of deliveries. Groups form by themselves: while one call is under way
//! the next group gathers, and a lone answer never waits for company.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::{buffer::Buffer, counts::Counts};
use crate::{
    error::{Error, Result},
    log::{
        backend::Backend,
        config::Checked,
        names::PartitionKey,
        observe::{EventKind, StoreKind},
        store::{Settled, Settlement},
    },
    retry::TransientBackoff,
    telemetry::log_target::SUBSCRIBER,
};

/// The most answers in one call.
const MAX_GROUP: usize = 1_000;
/// How long a subscription that is closing still tries on a backend that does not answer.
const LAST_TRIES: Duration = Duration::from_secs(5);

/// One answer on its way to the backend.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) settlement: Settlement,
    pub(super) kind: EventKind,
    /// Until when nobody else is given the message, by this program's clock.
    pub(super) good_until: Instant,
    pub(super) reply: Option<oneshot::Sender<Result<()>>>,
}

/// Where answers are left.
#[derive(Clone, Debug)]
pub(super) struct Answers(mpsc::UnboundedSender<Answer>);

impl Answers {
    /// Hands an answer over and waits until it is written down.
    pub(super) async fn settle(
        &self,
        settlement: Settlement,
        kind: EventKind,
        good_until: Instant,
    ) -> Result<()> {
        let (reply, answered) = oneshot::channel();
        self.leave(Answer {
            settlement,
            kind,
            good_until,
            reply: Some(reply),
        });
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Hands an answer over. When the acker is gone, so is the runtime.
    pub(super) fn leave(&self, answer: Answer) {
        let _ = self.0.send(answer);
    }
}

fn gone() -> Error {
    Error::Closed {
        driver: "subscription",
    }
}

/// Lives for as long as anyone may answer, which is longer than the subscription.
#[derive(Debug)]
pub(super) struct Acker {
    pub(super) backend: Backend,
    pub(super) checked: Arc<Checked>,
    pub(super) counts: Arc<Counts>,
    pub(super) buffer: Arc<Buffer>,
    pub(super) stopping: CancellationToken,
}

impl Acker {
    pub(super) fn start(self) -> Answers {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut group = Vec::new();
            while receiver.recv_many(&mut group, MAX_GROUP).await > 0 {
                self.settle(&mut group).await;
            }
        });
        Answers(sender)
    }

    /// Settles one group, for as long as the visibility of its messages lasts.
    async fn settle(&self, group: &mut Vec<Answer>) {
        let settlements: Vec<_> = group.iter().map(|a| a.settlement.clone()).collect();
        let mut backoff = TransientBackoff::new();
        let until = Instant::now() + self.checked.config.visibility_timeout;
        let mut is_repeated = false;
        loop {
            match self.call(&settlements).await {
                Ok(outcomes) => return self.confirm(group, &outcomes, is_repeated),
                Err(error) if error.is_transient() && self.may_repeat(until) => {
                    if !is_repeated {
                        self.log(
                            &error,
                            group.len(),
                            "cannot settle deliveries; trying again",
                        );
                    }
                    is_repeated = true;
                    sleep(backoff.next_pause()).await;
                }
                Err(error) if group.len() > 1 && !error.is_transient() => {
                    // One answer that the backend will not take must not cost the others theirs.
                    for answer in std::mem::take(group) {
                        Box::pin(self.settle(&mut vec![answer])).await;
                    }
                    return;
                }
                Err(error) => return self.fail(group, error),
            }
        }
    }

    async fn call(&self, settlements: &[Settlement]) -> Result<Vec<Settled>> {
        let Checked { topic, group, .. } = &*self.checked;
        let call = self
            .backend
            .inner
            .transactions()
            .settle(topic, group, settlements);
        self.backend
            .timed(StoreKind::Transactions, "settle", call)
            .await
    }

    fn may_repeat(&self, until: Instant) -> bool {
        let visibility = self.checked.config.visibility_timeout;
        let left = until.saturating_duration_since(Instant::now());
        if self.stopping.is_cancelled() {
            // Counted from the start of the group, not of the stop; either bounds the wait.
            left > visibility.saturating_sub(LAST_TRIES)
        } else {
            !left.is_zero()
        }
    }

    fn confirm(&self, group: &mut Vec<Answer>, outcomes: &[Settled], is_repeated: bool) {
        let now = Instant::now();
        let mut counts = BTreeMap::<(PartitionKey, &'static str), (EventKind, u64)>::new();
        let serial = self.checked.config.batch_size == 1;
        if serial {
            self.buffer
                .poke(group.iter().map(|a| &a.settlement.partition));
        }
        let mut replies = Vec::with_capacity(group.len());
        for (answer, outcome) in group.drain(..).zip(outcomes) {
            // A first try whose reply was lost may have acted; the message was still ours then.
            let acted_before = is_repeated && now < answer.good_until;
            let is_done = *outcome == Settled::Done || acted_before;
            let kind = if is_done {
                answer.kind
            } else {
                EventKind::LeaseLost
            };
            let key = (answer.settlement.partition.clone(), kind.as_str());
            counts.entry(key).or_insert((kind, 0)).1 += 1;
            let outcome = if is_done {
                Ok(())
            } else {
                Err(self.lost(&answer.settlement))
            };
            if let Some(reply) = answer.reply {
                replies.push((reply, outcome));
            }
        }
        for ((partition, _), (kind, count)) in counts {
            self.counts.add(kind, count);
            let Checked { topic, group, .. } = &*self.checked;
            self.backend
                .happened(topic, Some(group), &partition, kind, count);
        }
        // Last, so that whoever is told finds itself counted.
        for (reply, outcome) in replies {
            // Whoever asked may have gone.
            let _ = reply.send(outcome);
        }
    }

    fn lost(&self, settlement: &Settlement) -> Error {
        let (topic, partition) = (&self.checked.topic, &settlement.partition);
        Error::LeaseLost {
            message: format!("{topic}/{partition}@{}", settlement.offset),
        }
    }

    fn fail(&self, group: &mut Vec<Answer>, error: Error) {
        self.log(
            &error,
            group.len(),
            "deliveries could not be settled; they will be repeated",
        );
        let error = Arc::new(error);
        for answer in group.drain(..) {
            if let Some(reply) = answer.reply {
                let _ = reply.send(Err(Error::Batch(Arc::clone(&error))));
            }
        }
    }

    fn log(&self, error: &Error, deliveries: usize, message: &str) {
        let Checked {
            topic,
            group,
            subscriber,
            ..
        } = &*self.checked;
        tracing::warn!(
            target: SUBSCRIBER,
            %topic, consumer_group = %group, subscriber_name = %subscriber, deliveries, %error,
            "{message}"
        );
    }
}
