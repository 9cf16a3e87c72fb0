use std::{sync::Arc, time::Duration};

use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry,
};
use futures_util::future::{join, join_all};
use goqueue_core::{
    Result,
    dead_letter::DeadReason,
    driver::{Lease, LeaseOutcome, Settlement, Verdict},
};
use tokio::time::Instant;

use crate::{
    batch::{Answers, Entry, send},
    driver::Inner,
    error::{Fault, Meaning, Operation},
    held::Held,
    limits::seconds,
    push::Outgoing,
    queues::SqsQueue,
};

/// An answer for the entry at a place.
pub(crate) type Answered = (usize, Result<(), Fault>);

const SETTLE: Operation = "settle";

/// A job on its way to the dead letters.
pub(crate) struct Burial {
    pub(crate) place: usize,
    pub(crate) held: Arc<Held>,
    pub(crate) reason: DeadReason,
    pub(crate) error: String,
}

/// What has to be done about the leases of one call.
#[derive(Default)]
struct Plan {
    /// Deleted, and that is all.
    ended: Vec<(usize, Arc<Held>)>,
    /// Hidden for this long.
    hidden: Vec<(usize, Arc<Held>, Duration)>,
    /// Sent again to their own queue, then deleted.
    copied: Vec<(Arc<Held>, Entry<Outgoing>)>,
    /// Sent to the dead letters, then deleted.
    dead: Vec<Burial>,
}

impl Inner {
    pub(crate) async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<LeaseOutcome>> {
        let held: Vec<_> = settlements.iter().map(|one| Held::by(&one.lease)).collect();
        let mut outcomes = vec![LeaseOutcome::Lost; settlements.len()];
        let mut plan = Plan::default();
        let mut failed = None;
        for (place, (settlement, held)) in settlements.iter().zip(&held).enumerate() {
            if let Some(held) = held
                && let Err(error) = self.plan(&mut plan, place, held, &settlement.verdict)
            {
                failed = Some(error);
            }
        }
        for (place, answer) in self.carry_out(plan).await {
            let Some(held) = &held[place] else { continue };
            match answer {
                Ok(()) => {
                    held.end();
                    outcomes[place] = LeaseOutcome::Done;
                }
                Err(fault) if fault.meaning == Meaning::Gone => held.end(),
                Err(fault) => failed = Some(fault.into()),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(outcomes),
        }
    }

    fn plan(
        &self,
        plan: &mut Plan,
        place: usize,
        held: &Arc<Held>,
        verdict: &Verdict,
    ) -> Result<()> {
        let held = Arc::clone(held);
        match verdict {
            // A repeated call whose first try got as far as the copy.
            _ if held.is_moved() => plan.ended.push((place, held)),
            Verdict::Ack => plan.ended.push((place, held)),
            Verdict::Dead { reason, error } => {
                let (reason, error) = (*reason, error.clone());
                plan.dead.push(Burial {
                    place,
                    held,
                    reason,
                    error,
                });
            }
            Verdict::Retry { delay, .. } if self.can_hide(&held, *delay) => {
                plan.hidden.push((place, held, *delay));
            }
            Verdict::Retry { delay, .. } => {
                let copy = self.copy_after(&held, held.attempt, *delay, place)?;
                plan.copied.push((held, copy));
            }
            // On a FIFO queue the copy would lose its place, so the attempt is spent.
            Verdict::Release { delay }
                if self.settings.names.is_fifo && self.can_hide(&held, *delay) =>
            {
                plan.hidden.push((place, held, *delay));
            }
            Verdict::Release { delay } => {
                let base = held.attempt.saturating_sub(1);
                let copy = self.copy_after(&held, base, *delay, place)?;
                plan.copied.push((held, copy));
            }
        }
        Ok(())
    }

    /// Whether a message can be hidden until it is due again.
    fn can_hide(&self, held: &Held, delay: Duration) -> bool {
        delay <= held.hideable(self.settings.table.max_visibility) && self.outlives(held, delay)
    }

    async fn carry_out(&self, plan: Plan) -> Vec<Answered> {
        let sends = join(self.move_all(plan.copied, SETTLE), self.bury_all(plan.dead));
        let rest = join(
            self.delete_all(plan.ended, SETTLE),
            self.hide_all(plan.hidden, SETTLE),
        );
        let ((moved, buried), (deleted, hidden)) = join(sends, rest).await;
        [moved, buried, deleted, hidden].concat()
    }

    /// Sends copies to the queues of their originals, and deletes the originals of those that were
    /// stored: at any moment there is at least one.
    pub(crate) async fn move_all(
        &self,
        copies: Vec<(Arc<Held>, Entry<Outgoing>)>,
        operation: Operation,
    ) -> Vec<Answered> {
        let moves = by_queue(copies, |(held, _)| &held.queue)
            .into_iter()
            .map(|(queue, copies)| async move { self.move_to(&queue, copies, operation).await });
        join_all(moves).await.concat()
    }

    /// Sends messages to one queue, and deletes the originals of those that were stored.
    pub(crate) async fn move_to(
        &self,
        queue: &Arc<SqsQueue>,
        messages: Vec<(Arc<Held>, Entry<Outgoing>)>,
        operation: Operation,
    ) -> Vec<Answered> {
        let (held, entries): (Vec<_>, Vec<_>) = messages
            .into_iter()
            .map(|(held, entry)| ((entry.place, held), entry))
            .unzip();
        let (mut answers, mut originals) = (Vec::new(), Vec::new());
        for (place, answer) in self.send_all(queue, entries, operation).await {
            let original = held.iter().find(|(its, _)| *its == place);
            match (answer, original) {
                (Ok(_), Some((_, held))) => {
                    held.moved();
                    originals.push((place, Arc::clone(held)));
                }
                (Err(fault), _) => answers.push((place, Err(fault))),
                (Ok(_), None) => {}
            }
        }
        answers.extend(self.delete_all(originals, operation).await);
        answers
    }

    /// Deletes messages.
    pub(crate) async fn delete_all(
        &self,
        messages: Vec<(usize, Arc<Held>)>,
        operation: Operation,
    ) -> Vec<Answered> {
        let by_queue = by_queue(messages, |(_, held)| &held.queue);
        let deletes = by_queue.into_iter().map(|(queue, messages)| async move {
            let entry = |(place, what)| Entry {
                place,
                size: 0,
                what,
            };
            let messages = messages.into_iter().map(entry).collect();
            send(messages, false, |entries| {
                self.delete_call(&queue, entries, operation)
            })
            .await
        });
        without_ids(join_all(deletes).await)
    }

    async fn delete_call(
        &self,
        queue: &SqsQueue,
        entries: Vec<Entry<Arc<Held>>>,
        operation: Operation,
    ) -> Result<Answers, Fault> {
        let entries = entries.iter().filter_map(|entry| {
            let request = DeleteMessageBatchRequestEntry::builder()
                .id(entry.place.to_string())
                .receipt_handle(&entry.what.receipt);
            request.build().ok()
        });
        let call = self.client.delete_message_batch().queue_url(&queue.url);
        match call.set_entries(Some(entries.collect())).send().await {
            Ok(answer) => {
                let done = answer
                    .successful
                    .into_iter()
                    .map(|one| (one.id, String::new()));
                Ok(Answers::of(operation, done, &answer.failed))
            }
            Err(error) => Err(self.judge(queue, Fault::of(operation, &error), operation)),
        }
    }

    /// Hides messages, each for its time from now.
    pub(crate) async fn hide_all(
        &self,
        messages: Vec<(usize, Arc<Held>, Duration)>,
        operation: Operation,
    ) -> Vec<Answered> {
        let by_queue = by_queue(messages, |(_, held, _)| &held.queue);
        let hides = by_queue.into_iter().map(|(queue, messages)| async move {
            let entry = |(place, held, time)| Entry {
                place,
                size: 0,
                what: (held, time),
            };
            let messages = messages.into_iter().map(entry).collect();
            send(messages, false, |entries| {
                self.hide_call(&queue, entries, operation)
            })
            .await
        });
        without_ids(join_all(hides).await)
    }

    async fn hide_call(
        &self,
        queue: &SqsQueue,
        entries: Vec<Entry<(Arc<Held>, Duration)>>,
        operation: Operation,
    ) -> Result<Answers, Fault> {
        let entries = entries.iter().filter_map(
            |Entry {
                 place,
                 what: (held, time),
                 ..
             }| {
                let request = ChangeMessageVisibilityBatchRequestEntry::builder()
                    .id(place.to_string())
                    .receipt_handle(&held.receipt)
                    .visibility_timeout(seconds(*time));
                request.build().ok()
            },
        );
        let call = self
            .client
            .change_message_visibility_batch()
            .queue_url(&queue.url);
        match call.set_entries(Some(entries.collect())).send().await {
            Ok(answer) => {
                let done = answer
                    .successful
                    .into_iter()
                    .map(|one| (one.id, String::new()));
                Ok(Answers::of(operation, done, &answer.failed))
            }
            Err(error) => Err(self.judge(queue, Fault::of(operation, &error), operation)),
        }
    }

    pub(crate) async fn extend(&self, leases: &[Lease], by: Duration) -> Result<Vec<LeaseOutcome>> {
        let mut outcomes = vec![LeaseOutcome::Lost; leases.len()];
        let longest = self.settings.table.max_visibility;
        let mut hidden = Vec::new();
        for (place, held) in leases.iter().map(Held::by).enumerate() {
            let Some(held) = held else { continue };
            if by > held.hideable(longest) {
                tracing::error!(
                    job = %held.id, queue = %held.queue.name,
                    "SQS lets no message be held longer than {longest:?} from its receive: the \
                     lease of this job cannot be extended any more, and the job is told to stop"
                );
                continue;
            }
            hidden.push((place, held, by));
        }
        let held: Vec<_> = hidden
            .iter()
            .map(|(place, held, _)| (*place, Arc::clone(held)))
            .collect();
        let until = Instant::now() + by;
        let mut failed = None;
        for (place, answer) in self.hide_all(hidden, "extend").await {
            let held = held
                .iter()
                .find(|(its, _)| *its == place)
                .map(|(_, held)| held);
            match (answer, held) {
                (Ok(()), Some(held)) => {
                    held.extended_to(until);
                    outcomes[place] = LeaseOutcome::Done;
                }
                (Err(fault), _) if fault.meaning != Meaning::Gone => failed = Some(fault),
                _ => {}
            }
        }
        match failed {
            Some(fault) => Err(fault.into()),
            None => Ok(outcomes),
        }
    }
}

fn by_queue<T>(
    items: Vec<T>,
    queue_of: impl Fn(&T) -> &Arc<SqsQueue>,
) -> Vec<(Arc<SqsQueue>, Vec<T>)> {
    let mut all: Vec<(Arc<SqsQueue>, Vec<T>)> = Vec::new();
    for item in items {
        let queue = queue_of(&item);
        match all
            .iter_mut()
            .find(|(known, _)| known.on_sqs == queue.on_sqs)
        {
            Some((_, items)) => items.push(item),
            None => all.push((Arc::clone(queue), vec![item])),
        }
    }
    all
}

fn without_ids(answers: Vec<Vec<(usize, Result<String, Fault>)>>) -> Vec<Answered> {
    let answers = answers.into_iter().flatten();
    answers
        .map(|(place, answer)| (place, answer.map(|_| ())))
        .collect()
}
