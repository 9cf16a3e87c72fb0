use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use goqueue_core::{
    Error, JobId, QueueName, Result,
    driver::{NewJob, PushOutcome},
};
use tokio::time::Instant;

use crate::{
    attributes::{DUE_IN, job_message, number},
    batch::{Answers, Entry, send},
    connection::once,
    driver::Inner,
    error::{Fault, Meaning, Operation},
    keys,
    limits::{DEDUPLICATION, millis, seconds, size},
    queues::SqsQueue,
};

/// The most unique jobs that are remembered.
const REMEMBERED: usize = 10_000;

/// A message on its way, without the id that its batch gives it.
pub(crate) type Outgoing = SendMessageBatchRequestEntry;

impl Inner {
    pub(crate) async fn push(&self, jobs: Vec<NewJob>) -> Result<Vec<PushOutcome>> {
        let mut outcomes: Vec<Option<PushOutcome>> = jobs.iter().map(|_| None).collect();
        let mut by_queue: Vec<(QueueName, Vec<usize>)> = Vec::new();
        for (place, job) in jobs.iter().enumerate() {
            match by_queue.iter_mut().find(|(queue, _)| *queue == job.queue) {
                Some((_, places)) => places.push(place),
                None => by_queue.push((job.queue.clone(), vec![place])),
            }
        }
        for (queue, places) in by_queue {
            match self.jobs_of(&queue, "push").await {
                Ok(queue) => self.push_to(&queue, &jobs, &places, &mut outcomes).await,
                // Nothing was sent yet, and nothing can be.
                Err(error) if places.len() == jobs.len() && error.is_transient() => {
                    return Err(error);
                }
                Err(error) => refuse_all(error, &places, &mut outcomes),
            }
        }
        Ok(outcomes
            .into_iter()
            .map(|outcome| outcome.unwrap_or_else(unanswered))
            .collect())
    }

    async fn push_to(
        &self,
        queue: &Arc<SqsQueue>,
        jobs: &[NewJob],
        places: &[usize],
        outcomes: &mut [Option<PushOutcome>],
    ) {
        let mut entries = Vec::with_capacity(places.len());
        for place in places {
            match self.message_of(queue, &jobs[*place]) {
                Ok((size, what)) => entries.push(Entry {
                    place: *place,
                    size,
                    what,
                }),
                Err(error) => outcomes[*place] = Some(PushOutcome::Refused(error)),
            }
        }
        for (place, answer) in self.send_all(queue, entries, "push").await {
            let job = &jobs[place];
            outcomes[place] = Some(match answer {
                Ok(message_id) => match self.recent.note(queue, job, &message_id) {
                    Some(first) => PushOutcome::Duplicate(first),
                    None => PushOutcome::Stored,
                },
                Err(fault) => PushOutcome::Refused(fault.into()),
            });
        }
    }

    fn message_of(&self, queue: &SqsQueue, job: &NewJob) -> Result<(usize, Outgoing)> {
        let is_fifo = self.settings.names.is_fifo;
        let longest = self.settings.table.max_delay;
        // A FIFO queue delays no single message, and no queue delays one for longer than this.
        let is_marked = !job.delay.is_zero() && (is_fifo || job.delay > longest);
        let due_in = if is_marked {
            number(DUE_IN, millis(job.delay))
        } else {
            None
        };
        let (body, attributes) =
            job_message(job.id, &job.body, [due_in], &Vec::new(), queue.max_message)?;
        let size = size(&body, &attributes);
        let mut message = outgoing(body, attributes);
        if is_fifo {
            message.message_group_id = Some(keys::group(job));
            message.message_deduplication_id = Some(keys::dedup(job));
        } else {
            message.delay_seconds = Some(seconds(job.delay.min(longest)));
        }
        Ok((size, message))
    }

    /// Sends messages to a queue. In order where the queue has one.
    pub(crate) async fn send_all(
        &self,
        queue: &SqsQueue,
        entries: Vec<Entry<Outgoing>>,
        operation: Operation,
    ) -> Vec<(usize, Result<String, Fault>)> {
        let is_fifo = self.settings.names.is_fifo;
        let answers = send(entries, is_fifo, |entries| async move {
            let call = self.client.send_message_batch().queue_url(&queue.url);
            let entries = entries.into_iter().map(
                |Entry {
                     place, mut what, ..
                 }| {
                    what.id = place.to_string();
                    what
                },
            );
            let call = call.set_entries(Some(entries.collect())).customize();
            // On FIFO queues the service itself takes care that what is sent twice is there once.
            let call = if is_fifo {
                call
            } else {
                call.config_override(once())
            };
            match call.send().await {
                Ok(answer) => {
                    let done = answer
                        .successful
                        .into_iter()
                        .map(|one| (one.id, one.message_id));
                    Ok(Answers::of(operation, done, &answer.failed))
                }
                Err(error) => Err(self.judge(queue, Fault::of(operation, &error), operation)),
            }
        });
        answers.await
    }

    /// Looks at a fault of a call about a queue: one that is gone is forgotten.
    pub(crate) fn judge(&self, queue: &SqsQueue, fault: Fault, operation: Operation) -> Fault {
        if fault.meaning != Meaning::NoQueue {
            return fault;
        }
        self.queues.forget(&queue.on_sqs);
        self.no_such_queue(&queue.on_sqs, operation)
    }
}

/// A message with nothing but a body and attributes.
pub(crate) fn outgoing(body: String, attributes: crate::attributes::Attributes) -> Outgoing {
    let message = Outgoing::builder()
        .id("0")
        .message_body(body)
        .set_message_attributes(Some(attributes.into_iter().collect()));
    #[expect(
        clippy::expect_used,
        reason = "the id and the body, which it needs, are given"
    )]
    message.build().expect("a message has an id and a body")
}

fn refuse_all(error: Error, places: &[usize], outcomes: &mut [Option<PushOutcome>]) {
    let error = Arc::new(error);
    for place in places {
        outcomes[*place] = Some(PushOutcome::Refused(Error::Batch(Arc::clone(&error))));
    }
}

fn unanswered() -> PushOutcome {
    let text = "the service answered for other jobs of the call, and not for this one";
    PushOutcome::Refused(Fault::new(Meaning::Unknown, "push", text).into())
}

/// The unique jobs that this process has pushed within the deduplication window. SQS answers a
/// duplicate like a message that it stored, but with the id of the first one.
#[derive(Debug, Default)]
pub(crate) struct Recent(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    jobs: HashMap<String, JobId>,
    order: VecDeque<(Instant, String)>,
}

impl Recent {
    /// Takes down the message of a unique job; answers the job that was there first, if one was.
    fn note(&self, queue: &SqsQueue, job: &NewJob, message_id: &str) -> Option<JobId> {
        job.unique.as_ref()?;
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.forget_old();
        let key = format!("{} {message_id}", queue.on_sqs);
        match remembered.jobs.get(&key) {
            Some(first) => (*first != job.id).then_some(*first),
            None => {
                remembered.order.push_back((Instant::now(), key.clone()));
                remembered.jobs.insert(key, job.id);
                None
            }
        }
    }
}

impl Remembered {
    fn forget_old(&mut self) {
        while let Some((since, _)) = self.order.front() {
            if since.elapsed() < DEDUPLICATION && self.order.len() < REMEMBERED {
                return;
            }
            if let Some((_, key)) = self.order.pop_front() {
                self.jobs.remove(&key);
            }
        }
    }
}
