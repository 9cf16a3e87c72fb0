use std::{sync::Arc, time::Duration};

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName as System};
use futures_util::future::join_all;
use goqueue_core::{
    Result,
    driver::{Lease, LeaseToken, ReserveRequest, Reserved},
};
use tokio::time::Instant;

use crate::{
    connection::patient,
    driver::Inner,
    error::Fault,
    held::Held,
    incoming::Incoming,
    limits::{MAX_BATCH, seconds},
    queues::SqsQueue,
    resend::Changes,
};

pub(crate) const RESERVE: &str = "reserve";
/// A worker that waits looks into a queue that was empty again after this long, while others are not.
const LOOK: Duration = Duration::from_secs(1);
const ATTRIBUTES: [System; 6] = [
    System::ApproximateReceiveCount,
    System::ApproximateFirstReceiveTimestamp,
    System::SentTimestamp,
    System::MessageGroupId,
    System::MessageDeduplicationId,
    System::SequenceNumber,
];

/// One receive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) most: usize,
    pub(crate) lease: Duration,
    pub(crate) wait: Duration,
}

/// A queue of a reservation: how many it may fill first, and whether more may be there.
pub(crate) struct Source {
    pub(crate) queue: Arc<SqsQueue>,
    share: usize,
    may_have_more: bool,
}

impl Inner {
    pub(crate) async fn reserve(
        self: &Arc<Self>,
        request: &ReserveRequest,
    ) -> Result<Vec<Reserved>> {
        let ends = Instant::now() + request.wait.min(Duration::from_secs(24 * 3600));
        let mut sources = self.sources(request).await?;
        let mut taken = self.shares(&mut sources, request).await?;
        for source in &mut sources {
            let room = request.max.saturating_sub(taken.len());
            if room > 0 && source.may_have_more {
                match self.collect(&source.queue, room, request.lease).await {
                    Ok(more) => taken.extend(more),
                    Err(error) if taken.is_empty() => return Err(error),
                    // What was taken must not be lost for a queue that failed.
                    Err(_) => break,
                }
            }
        }
        if taken.is_empty() && !request.wait.is_zero() {
            taken = self.wait_for_first(sources, request, ends).await?;
        }
        Ok(taken)
    }

    /// The queues that exist. One that is missing is no reason to leave the others unserved.
    async fn sources(&self, request: &ReserveRequest) -> Result<Vec<Source>> {
        let mut sources = Vec::with_capacity(request.queues.len());
        let mut missing = None;
        for share in &request.queues {
            let on_sqs = self.settings.names.jobs(&share.queue)?;
            if self.queues.is_missing(&on_sqs) && request.queues.len() > 1 {
                missing = Some(self.no_such_queue(&on_sqs, RESERVE).into());
                continue;
            }
            match self.jobs_of(&share.queue, RESERVE).await {
                Ok(queue) => sources.push(Source {
                    may_have_more: self.is_worth_a_look(&queue, request),
                    queue,
                    share: share.share,
                }),
                Err(error) if self.queues.is_missing(&on_sqs) => {
                    tracing::warn!(queue = %share.queue, %error, "a queue is not served");
                    missing = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        match missing {
            Some(error) if sources.is_empty() => Err(error),
            _ => Ok(sources),
        }
    }

    /// An empty queue is not asked with each reservation of a busy worker. One that waits asks it in
    /// its long poll.
    fn is_worth_a_look(&self, queue: &SqsQueue, request: &ReserveRequest) -> bool {
        let is_quiet = queue
            .quiet_since()
            .is_some_and(|since| since.elapsed() < LOOK);
        request.wait.is_zero() || !is_quiet
    }

    /// The first pass: from each queue up to its share.
    async fn shares(
        self: &Arc<Self>,
        sources: &mut [Source],
        request: &ReserveRequest,
    ) -> Result<Vec<Reserved>> {
        let mut room = request.max;
        let collects = sources.iter().map(|source| {
            let most = if source.may_have_more {
                source.share.min(room)
            } else {
                0
            };
            room -= most;
            async move {
                let taken = self.collect(&source.queue, most, request.lease).await;
                (most, taken)
            }
        });
        let collected = join_all(collects).await;
        let (mut taken, mut failed) = (Vec::new(), None);
        for (source, (most, answer)) in sources.iter_mut().zip(collected) {
            match answer {
                Ok(jobs) => {
                    source.may_have_more &= jobs.len() >= most;
                    taken.extend(jobs);
                }
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) if taken.is_empty() => Err(error),
            _ => Ok(taken),
        }
    }

    /// Takes up to `most` jobs that are there, without waiting.
    pub(crate) async fn collect(
        self: &Arc<Self>,
        queue: &Arc<SqsQueue>,
        most: usize,
        lease: Duration,
    ) -> Result<Vec<Reserved>> {
        let mut taken = Vec::new();
        while taken.len() < most {
            let asks = self.asks(queue, most - taken.len(), lease);
            let asked: usize = asks.iter().map(|ask| ask.most).sum();
            let receives = asks.into_iter().map(|ask| self.receive(queue, ask));
            let (mut messages, mut failed) = (Vec::new(), None);
            for answer in join_all(receives).await {
                match answer {
                    Ok(received) => messages.extend(received),
                    Err(fault) => failed = Some(fault),
                }
            }
            let count = messages.len();
            taken.extend(self.accept(queue, messages, lease).await);
            match failed {
                Some(fault) if taken.is_empty() => return Err(fault.into()),
                Some(_) => break,
                None if count < asked => break,
                None => {}
            }
        }
        Ok(taken)
    }

    /// The receives for `most` messages: several at once when the queue is known to have that many.
    /// A receive of a FIFO queue asks for one, because it would bring several of one group, and those
    /// behind the first would have an attempt counted that they do not get.
    fn asks(&self, queue: &SqsQueue, most: usize, lease: Duration) -> Vec<Ask> {
        let each = if self.settings.names.is_fifo {
            1
        } else {
            MAX_BATCH
        };
        let calls = if queue.is_full() {
            most.div_ceil(each).min(MAX_BATCH)
        } else {
            1
        };
        let ask = |number: usize| Ask {
            most: most.saturating_sub(number * each).min(each),
            lease,
            wait: Duration::ZERO,
        };
        (0..calls).map(ask).collect()
    }

    pub(crate) async fn receive(&self, queue: &SqsQueue, ask: Ask) -> Result<Vec<Message>, Fault> {
        let most = i32::try_from(ask.most.min(MAX_BATCH)).unwrap_or(1);
        let mut call = self
            .client
            .receive_message()
            .queue_url(&queue.url)
            .max_number_of_messages(most)
            .visibility_timeout(seconds(ask.lease))
            .wait_time_seconds(seconds(ask.wait))
            .message_attribute_names("All")
            .set_message_system_attribute_names(Some(ATTRIBUTES.to_vec()));
        if self.settings.names.is_fifo {
            // With the same id a repeated receive brings the same messages, should the first answer
            // have been lost on its way.
            call = call.receive_request_attempt_id(uuid::Uuid::now_v7().to_string());
        }
        let response = self.settings.table.response_timeout;
        let call = call
            .customize()
            .config_override(patient(ask.wait, response));
        match call.send().await {
            Ok(answer) => {
                let messages = answer.messages.unwrap_or_default();
                queue.gave(messages.len(), ask.most);
                Ok(messages)
            }
            Err(error) => Err(self.judge(queue, Fault::of(RESERVE, &error), RESERVE)),
        }
    }

    /// Begins the leases of messages that are due, and puts back those that are not.
    pub(crate) async fn accept(
        &self,
        queue: &Arc<SqsQueue>,
        messages: Vec<Message>,
        lease: Duration,
    ) -> Vec<Reserved> {
        let mut incoming = self.read_all(queue, messages);
        incoming.sort_by_key(|message| message.sequence);
        let (mut jobs, mut early) = (Vec::new(), Vec::new());
        for Incoming {
            start, base, due, ..
        } in incoming
        {
            let held = Arc::new(Held::new(start, lease));
            match due {
                Some(due) => early.push((held, Changes { base, due })),
                None => jobs.push(Reserved {
                    body: held.body.clone(),
                    attempt: held.attempt,
                    lease: Lease {
                        queue: queue.name.clone(),
                        id: held.id,
                        token: LeaseToken::shared(held),
                    },
                }),
            }
        }
        if !early.is_empty() {
            self.put_back(early).await;
        }
        jobs
    }

    fn read_all(&self, queue: &Arc<SqsQueue>, messages: Vec<Message>) -> Vec<Incoming> {
        let longest = self.settings.table.max_visibility;
        let read = |message| {
            let read = Incoming::read(queue, message, &self.clock, longest);
            if read.is_none() {
                tracing::error!(queue = %queue.name, "SQS handed out a message without id or receipt");
            }
            read
        };
        messages.into_iter().filter_map(read).collect()
    }

    /// Gives back messages that nobody waits for any more, as a worker gives back what it did not
    /// start.
    pub(crate) async fn give_back(
        &self,
        queue: &Arc<SqsQueue>,
        messages: Vec<Message>,
        lease: Duration,
    ) {
        let (mut copies, mut hidden) = (Vec::new(), Vec::new());
        for (place, message) in self.read_all(queue, messages).into_iter().enumerate() {
            let Incoming { start, due, .. } = message;
            let held = Arc::new(Held::new(start, lease));
            let wait = due.map_or(0, |due| due.saturating_sub(self.clock.now()));
            let (wait, base) = (Duration::from_millis(wait), held.attempt.saturating_sub(1));
            // A copy gets the attempt back, and goes behind the others of its group if there are any.
            let is_alone = held
                .group
                .as_ref()
                .is_none_or(|group| *group == held.id.to_string());
            match self.copy_after(&held, base, wait, place) {
                Ok(copy) if is_alone => copies.push((held, copy)),
                _ => hidden.push((place, held, Duration::ZERO)),
            }
        }
        let moved = self.move_all(copies, RESERVE).await;
        for (_, answer) in moved
            .into_iter()
            .chain(self.hide_all(hidden, RESERVE).await)
        {
            if let Err(fault) = answer {
                let error = goqueue_core::Error::from(fault);
                tracing::warn!(queue = %queue.name, %error, "a job comes again when its lease ends");
            }
        }
    }
}
