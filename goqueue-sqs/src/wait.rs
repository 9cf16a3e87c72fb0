//! How a reservation waits for its first job.

use std::{sync::Arc, time::Duration};

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
        let mut polls: Vec<(Arc<SqsQueue>, _)> = Vec::new();
        loop {
            let left = ends.saturating_duration_since(Instant::now());
            if left < SHORTEST_WAIT {
                return self.last_look(&queues, request, ends).await;
            }
            let wait = Duration::from_secs(left.as_secs()).min(MAX_WAIT);
            for queue in &queues {
                if !polls.iter().any(|(polled, _)| Arc::ptr_eq(polled, queue)) {
                    let ask = Ask {
                        most,
                        lease: request.lease,
                        wait,
                    };
                    polls.push((Arc::clone(queue), self.poll(queue, ask)));
                }
            }
            let asked = Instant::now();
            let first = select_all(polls.iter_mut().map(|(_, poll)| poll));
            let (answer, place) = tokio::select! {
                biased;
                () = self.is_over(request, ends) => return Ok(Vec::new()),
                (answer, place, _) = first => (answer, place),
            };
            let (queue, _) = polls.swap_remove(place);
            // The end of the channel is that of the driver.
            let Ok(answer) = answer else {
                return Ok(Vec::new());
            };
            let messages = match answer {
                Ok(messages) => messages,
                Err(fault) if fault.meaning == Meaning::NoQueue && queues.len() > 1 => {
                    queues.retain(|other| !Arc::ptr_eq(other, &queue));
                    continue;
                }
                Err(fault) => return Err(fault.into()),
            };
            let taken = self.accept(&queue, messages, request.lease).await;
            if !taken.is_empty() {
                return Ok(taken);
            }
            // Should a service not wait although it is told to, then this does.
            if asked.elapsed() < SHORTEST_WAIT / 2 {
                tokio::select! {
                    () = self.is_over(request, ends) => return Ok(Vec::new()),
                    () = sleep(SHORTEST_WAIT / 2) => {}
                }
            }
        }
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
