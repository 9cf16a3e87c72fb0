//! Long polls. One that is given up is not broken off: what the service hands out at that moment
//! would be hidden from everybody until its lease ends. It goes on by itself, serves whoever waits
//! next, and gives back what it brings when nobody does.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use aws_sdk_sqs::types::Message;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep},
};

use crate::{driver::Inner, error::Fault, queues::SqsQueue, reserve::Ask};

/// How long a poll may go on when the driver is closed.
const LAST: Duration = Duration::from_secs(1);
/// A poll that ends sooner is not worth joining.
const SHORTEST: Duration = Duration::from_millis(500);

pub(crate) type Answer = Result<Vec<Message>, Fault>;

/// Somebody who waits for a poll. An answer that is not taken is given back.
pub(crate) struct Waiting {
    inner: Arc<Inner>,
    pub(crate) queue: Arc<SqsQueue>,
    lease: Duration,
    receiver: oneshot::Receiver<Answer>,
}

impl Waiting {
    /// What the poll brings; `None` when the driver is closed.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        (&mut self.receiver).await.ok()
    }

    /// Waits no longer: what the poll has brought already, if anything. What it brings from now on
    /// goes to whoever waits next.
    pub(crate) fn stop(&mut self) -> Option<Answer> {
        self.receiver.close();
        self.receiver.try_recv().ok()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(Ok(messages)) = self.stop() {
            self.inner
                .give_back_later(&self.queue, messages, self.lease);
        }
    }
}

/// The long polls of one queue that are under way.
#[derive(Debug, Default)]
pub(crate) struct Polls(Mutex<Vec<Arc<Poll>>>);

/// One long poll, and who waits for it.
#[derive(Debug)]
struct Poll {
    lease: Duration,
    ends: Instant,
    /// `None` when it is over.
    waiting: Mutex<Option<oneshot::Sender<Answer>>>,
}

impl Polls {
    /// Joins a poll that nobody waits for any more.
    fn join(&self, lease: Duration) -> Option<oneshot::Receiver<Answer>> {
        let polls = self.lock();
        let worth = Instant::now() + SHORTEST;
        polls
            .iter()
            .filter(|poll| poll.lease == lease && poll.ends > worth)
            .find_map(|poll| poll.join())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Poll>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Poll {
    fn join(&self) -> Option<oneshot::Receiver<Answer>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if !waiting.as_ref()?.is_closed() {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        *waiting = Some(sender);
        Some(receiver)
    }

    /// Hands the answer over; gives it back when nobody takes it.
    fn end(&self, answer: Answer) -> Option<Answer> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match waiting.take() {
            Some(sender) => sender.send(answer).err(),
            None => Some(answer),
        }
    }
}

impl Inner {
    /// Waits for messages of a queue, `ask.wait` at most: in a poll that is under way, or a new one.
    pub(crate) fn poll(self: &Arc<Self>, queue: &Arc<SqsQueue>, ask: Ask) -> Waiting {
        let joined = queue.polls.join(ask.lease);
        Waiting {
            receiver: joined.unwrap_or_else(|| self.begin(queue, ask)),
            inner: Arc::clone(self),
            queue: Arc::clone(queue),
            lease: ask.lease,
        }
    }

    fn begin(self: &Arc<Self>, queue: &Arc<SqsQueue>, ask: Ask) -> oneshot::Receiver<Answer> {
        let (sender, receiver) = oneshot::channel();
        let poll = Arc::new(Poll {
            lease: ask.lease,
            ends: Instant::now() + ask.wait,
            waiting: Mutex::new(Some(sender)),
        });
        queue.polls.lock().push(Arc::clone(&poll));
        let (inner, queue) = (Arc::clone(self), Arc::clone(queue));
        self.polls.spawn(async move {
            let closing = async {
                inner.gate.closed().cancelled().await;
                sleep(LAST).await;
            };
            let answer = tokio::select! {
                answer = inner.receive(&queue, ask) => Some(answer),
                () = closing => None,
            };
            queue
                .polls
                .lock()
                .retain(|other| !Arc::ptr_eq(other, &poll));
            // Whoever waits when the driver closes sees the end of the channel.
            let Some(answer) = answer else { return };
            if let Some(Ok(messages)) = poll.end(answer) {
                inner.give_back(&queue, messages, ask.lease).await;
            }
        });
        receiver
    }

    /// Gives messages back without making anybody wait for it.
    pub(crate) fn give_back_later(
        self: &Arc<Self>,
        queue: &Arc<SqsQueue>,
        messages: Vec<Message>,
        lease: Duration,
    ) {
        if messages.is_empty() {
            return;
        }
        let (inner, queue) = (Arc::clone(self), Arc::clone(queue));
        self.polls
            .spawn(async move { inner.give_back(&queue, messages, lease).await });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(lease: Duration, ends_in: Duration) -> (Arc<Poll>, oneshot::Receiver<Answer>) {
        let (sender, receiver) = oneshot::channel();
        let poll = Poll {
            lease,
            ends: Instant::now() + ends_in,
            waiting: Mutex::new(Some(sender)),
        };
        (Arc::new(poll), receiver)
    }

    #[tokio::test]
    async fn a_poll_serves_one_at_a_time_and_whoever_waits_last() {
        let (lease, long) = (Duration::from_secs(9), Duration::from_secs(20));
        let (one, first) = poll(lease, long);
        let polls = Polls(Mutex::new(vec![Arc::clone(&one)]));
        assert!(polls.join(lease).is_none(), "somebody waits for it");
        drop(first);
        assert!(
            polls.join(lease * 2).is_none(),
            "another lease is another poll"
        );
        let second = polls.join(lease).unwrap();
        assert!(one.end(Ok(Vec::new())).is_none(), "it is taken");
        assert!(second.await.unwrap().unwrap().is_empty());
        assert!(polls.join(lease).is_none(), "it is over");
    }

    #[tokio::test]
    async fn what_nobody_takes_comes_back() {
        let lease = Duration::from_secs(9);
        let (one, first) = poll(lease, Duration::from_millis(100));
        drop(first);
        let polls = Polls(Mutex::new(vec![Arc::clone(&one)]));
        assert!(polls.join(lease).is_none(), "it ends too soon to be joined");
        assert!(one.end(Ok(vec![Message::builder().build()])).is_some());
    }
}
