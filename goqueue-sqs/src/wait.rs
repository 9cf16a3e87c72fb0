//! How a reservation waits for its first job.

use std::{sync::Arc, time::Duration};

use aws_sdk_sqs::types::Message;
use futures_util::future::select_all;
use goqueue_core::{
    Result,
    driver::{ReserveRequest, Reserved},
};
use tokio::time::{Instant, sleep, sleep_until};

use crate::{
    driver::Inner,
    error::Meaning,
    limits::{MAX_BATCH, MAX_WAIT},
    poll::Waiting,
    queues::SqsQueue,
    reserve::{Ask, Source},
};

/// A shorter wait than the service can make is slept.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

impl Inner {
    /// Waits in a long poll of each queue until one brings a job that is due.
    pub(crate) async fn wait_for_first(
        self: &Arc<Self>,
        sources: Vec<Source>,
        request: &ReserveRequest,
        ends: Instant,
    ) -> Result<Vec<Reserved>> {
        // Shared out, so that they do not bring more than there is room for.
        let each = if self.settings.names.is_fifo {
            1
        } else {
            MAX_BATCH
        };
        let most = (request.max / sources.len().max(1)).clamp(1, each);
        let mut queues: Vec<_> = sources.into_iter().map(|source| source.queue).collect();
        let mut polls: Vec<Waiting> = Vec::new();
        loop {
            let left = ends.saturating_duration_since(Instant::now());
            if left < SHORTEST_WAIT {
                let taken = self.brought(polls, Vec::new(), request).await;
                if !taken.is_empty() {
                    return Ok(taken);
                }
                return self.last_look(&queues, request, ends).await;
            }
            let wait = Duration::from_secs(left.as_secs()).min(MAX_WAIT);
            for queue in &queues {
                if !polls.iter().any(|poll| Arc::ptr_eq(&poll.queue, queue)) {
                    let ask = Ask {
                        most,
                        lease: request.lease,
                        wait,
                    };
                    polls.push(self.poll(queue, ask));
                }
            }
            let asked = Instant::now();
            let first = select_all(polls.iter_mut().map(|poll| Box::pin(poll.answer())));
            let first = tokio::select! {
                biased;
                // No answer: the driver is closed.
                (answer, place, _) = first => answer.map(|answer| (answer, place)),
                () = self.is_over(request, ends) => None,
            };
            let Some((answer, place)) = first else {
                return Ok(self.brought(polls, Vec::new(), request).await);
            };
            let queue = Arc::clone(&polls.swap_remove(place).queue);
            match answer {
                Ok(messages) => {
                    let taken = self.take(&queue, messages, request, 0).await;
                    if !taken.is_empty() {
                        return Ok(self.brought(polls, taken, request).await);
                    }
                }
                Err(fault) if fault.meaning == Meaning::NoQueue && queues.len() > 1 => {
                    queues.retain(|other| !Arc::ptr_eq(other, &queue));
                    continue;
                }
                Err(fault) => {
                    let taken = self.brought(polls, Vec::new(), request).await;
                    // A queue that failed will say so again; what was taken would be lost.
                    return if taken.is_empty() {
                        Err(fault.into())
                    } else {
                        Ok(taken)
                    };
                }
            }
            // Should a service not wait although it is told to, then this does.
            if asked.elapsed() < SHORTEST_WAIT / 2 {
                tokio::select! {
                    () = self.is_over(request, ends) => {}
                    () = sleep(SHORTEST_WAIT / 2) => {}
                }
            }
        }
    }

    /// Begins the leases of as many messages as there is room for, and gives back the rest: a poll
    /// may have been asked by somebody with more room.
    async fn take(
        self: &Arc<Self>,
        queue: &Arc<SqsQueue>,
        mut messages: Vec<Message>,
        request: &ReserveRequest,
        taken: usize,
    ) -> Vec<Reserved> {
        let room = request.max.saturating_sub(taken).min(messages.len());
        let beyond = messages.split_off(room);
        self.give_back_later(queue, beyond, request.lease);
        self.accept(queue, messages, request.lease).await
    }

    /// Ends a wait. Polls that end at the same moment may all have brought something.
    async fn brought(
        self: &Arc<Self>,
        polls: Vec<Waiting>,
        mut taken: Vec<Reserved>,
        request: &ReserveRequest,
    ) -> Vec<Reserved> {
        for mut poll in polls {
            if let Some(Ok(messages)) = poll.stop() {
                let more = self.take(&poll.queue, messages, request, taken.len()).await;
                taken.extend(more);
            }
        }
        taken
    }

    /// Until a wait is over or called off.
    async fn is_over(&self, request: &ReserveRequest, ends: Instant) {
        tokio::select! {
            () = request.cancel.cancelled() => {}
            () = self.gate.closed().cancelled() => {}
            () = sleep_until(ends) => {}
        }
    }

    /// The end of a wait that is too short for a long poll.
    async fn last_look(
        self: &Arc<Self>,
        queues: &[Arc<SqsQueue>],
        request: &ReserveRequest,
        ends: Instant,
    ) -> Result<Vec<Reserved>> {
        self.is_over(request, ends).await;
        let mut taken = Vec::new();
        if request.cancel.is_cancelled() || self.gate.closed().is_cancelled() {
            return Ok(taken);
        }
        for queue in queues {
            let room = request.max.saturating_sub(taken.len());
            if room > 0 {
                match self.collect(queue, room, request.lease).await {
                    Ok(more) => taken.extend(more),
                    Err(error) if taken.is_empty() => return Err(error),
                    Err(_) => break,
                }
            }
        }
        Ok(taken)
    }
}
