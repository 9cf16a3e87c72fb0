use std::{fmt, sync::Arc};

use async_trait::async_trait;
use aws_sdk_sqs::types::MessageAttributeValue;
use futures_util::future::join_all;
use goqueue_core::{
    BoxError, Config, DeadLetter, DeadLetters, Envelope, JobId, Result, dead_letter::DeadReason,
};

use crate::{
    SqsDriver,
    attributes::{
        self, ATTEMPTS, Attributes, DEDUP, DIED_AT, GROUP, ID, QUEUE, REASON, number, text,
    },
    batch::Entry,
    driver::Inner,
    error::Fault,
    keys,
    limits::size,
    push::{Outgoing, outgoing},
    queues::SqsQueue,
    settle::{Answered, Burial},
};

/// The dead letters of an SQS account and region, for workers whose jobs live elsewhere.
///
/// They are kept in the queue `PREFIX` `QUEUE` `-dead`, next to those of the SQS driver itself, and
/// are seen and steered through its [`Inspect`](goqueue_core::driver::Inspect): requeueing makes them
/// jobs of that SQS queue. On a FIFO queue the same letter stored twice within five minutes is one
/// letter; on a standard queue it is two.
///
/// ```no_run
/// # async fn example(queue: goqueue_core::Queue) -> goqueue_core::Result<()> {
/// use goqueue_core::{Config, Worker};
/// use goqueue_sqs::SqsDeadLetters;
///
/// let config = Config::default().with_driver("sqs://eu-west-1/shop-");
/// let worker = Worker::builder(&queue).dead_letters(SqsDeadLetters::connect(&config).await?);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct SqsDeadLetters(SqsDriver);

/// What a letter says beside its body and its error.
struct Story<'a> {
    id: JobId,
    queue: &'a str,
    reason: DeadReason,
    attempts: u32,
    died_at: u64,
}

impl Story<'_> {
    /// In the order in which they matter, for a message that has no room for all.
    fn marks(&self) -> [Option<(String, MessageAttributeValue)>; 5] {
        [
            text(ID, &self.id.to_string()),
            text(REASON, self.reason.as_str()),
            number(ATTEMPTS, self.attempts.into()),
            text(QUEUE, self.queue),
            number(DIED_AT, self.died_at),
        ]
    }
}

impl Inner {
    /// Sends jobs to the dead letters of their queues, and deletes those that arrived.
    pub(crate) async fn bury_all(&self, burials: Vec<Burial>) -> Vec<Answered> {
        let mut by_queue: Vec<(Arc<SqsQueue>, Vec<Burial>)> = Vec::new();
        for burial in burials {
            let queue = &burial.held.queue;
            match by_queue
                .iter_mut()
                .find(|(known, _)| known.on_sqs == queue.on_sqs)
            {
                Some((_, burials)) => burials.push(burial),
                None => by_queue.push((Arc::clone(queue), vec![burial])),
            }
        }
        let burials = by_queue
            .into_iter()
            .map(|(queue, burials)| async move { self.bury_from(&queue, burials).await });
        join_all(burials).await.concat()
    }

    async fn bury_from(&self, queue: &SqsQueue, burials: Vec<Burial>) -> Vec<Answered> {
        let dead = match self.dead_of(&queue.name, "settle").await {
            Ok(dead) => dead,
            Err(error) => {
                let fault = Fault::caused("settle", &error);
                return burials
                    .iter()
                    .map(|one| (one.place, Err(fault.clone())))
                    .collect();
            }
        };
        let (mut answers, mut letters) = (Vec::new(), Vec::new());
        for Burial {
            place,
            held,
            reason,
            error,
        } in burials
        {
            let story = Story {
                id: held.id,
                queue: queue.name.as_str(),
                reason,
                attempts: held.attempt,
                died_at: self.clock.now(),
            };
            let dedup = held.dedup.as_deref().and_then(|dedup| text(DEDUP, dedup));
            let group = self.group_mark(held.id, held.group.as_deref());
            let marks = story.marks().into_iter().chain([group, dedup]);
            let (limit, foreign) = (dead.max_message, &held.foreign);
            match attributes::letter_message(&held.body, foreign, &error, marks, limit) {
                Ok((body, attributes)) => {
                    let once = keys::copy_of(held.id, &held.message_id);
                    let letter = self.letter(place, body, attributes, held.id, once);
                    letters.push((held, letter));
                }
                Err(error) => answers.push((place, Err(Fault::caused("settle", &error)))),
            }
        }
        answers.extend(self.move_to(&dead, letters, "settle").await);
        answers
    }

    /// The group of a letter's job, where it is not just the job itself.
    fn group_mark(
        &self,
        id: JobId,
        group: Option<&str>,
    ) -> Option<(String, MessageAttributeValue)> {
        let group = group.filter(|group| *group != id.to_string())?;
        self.settings.names.is_fifo.then(|| text(GROUP, group))?
    }

    /// A letter is a group of its own: in the group of its job, whoever looks at one letter would hide
    /// those behind it.
    fn letter(
        &self,
        place: usize,
        body: String,
        attributes: Attributes,
        id: JobId,
        once: String,
    ) -> Entry<Outgoing> {
        let size = size(&body, &attributes);
        let mut what = outgoing(body, attributes);
        if self.settings.names.is_fifo {
            what.message_group_id = Some(id.to_string());
            what.message_deduplication_id = Some(once);
        }
        Entry { place, size, what }
    }

    /// Keeps the letter of another driver.
    async fn keep(&self, dead: &DeadLetter) -> Result<()> {
        let queue = self.dead_of(&dead.queue, "store a dead letter").await?;
        let story = Story {
            id: dead.id,
            queue: dead.queue.as_str(),
            reason: dead.reason,
            attempts: dead.attempts,
            died_at: dead.died_at,
        };
        let limit = queue.max_message;
        let none = Attributes::new();
        // For the case that it is made a job of this account.
        let envelope = Envelope::decode(&dead.body).ok();
        let key = envelope.and_then(|envelope| envelope.ordering_key);
        let group = key.map(|key| keys::fitted(&key));
        let group = self.group_mark(dead.id, group.as_deref());
        let marks = story.marks().into_iter().chain([group]);
        let (body, attributes) =
            attributes::letter_message(&dead.body, &none, &dead.error, marks, limit)?;
        let once = keys::fitted(&format!("{}~{}", dead.id, dead.died_at));
        let letter = self.letter(0, body, attributes, dead.id, once);
        for (_, answer) in self
            .send_all(&queue, vec![letter], "store a dead letter")
            .await
        {
            answer?;
        }
        Ok(())
    }
}

impl SqsDeadLetters {
    /// Connects as [`SqsDriver::connect`] does.
    ///
    /// # Errors
    /// As for [`SqsDriver::connect`].
    pub async fn connect(config: &Config) -> Result<Self> {
        Ok(Self(SqsDriver::connect(config).await?))
    }

    pub(crate) fn on(driver: SqsDriver) -> Self {
        Self(driver)
    }
}

impl fmt::Debug for SqsDeadLetters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SqsDeadLetters").field(&self.0).finish()
    }
}

#[async_trait]
impl DeadLetters for SqsDeadLetters {
    async fn store(&self, letter: DeadLetter) -> Result<(), BoxError> {
        let _pass = self.0.0.gate.enter()?;
        Ok(self.0.0.keep(&letter).await?)
    }
}
