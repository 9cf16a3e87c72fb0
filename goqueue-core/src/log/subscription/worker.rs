//! One partition, read for as long as its lease holds.

use std::{sync::Arc, time::Duration};

use tokio::{select, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    acker::Answer,
    buffer::{Lane, Ready},
    random,
    shared::Shared,
};
use crate::{
    error::{Error, Result},
    log::{
        marks,
        names::PartitionKey,
        observe::{EventKind, StoreKind},
        store::{Delivered, Fetch, FetchRequest, GroupPartition, Receipt, Settlement, Verdict},
    },
    retry::TransientBackoff,
    telemetry::log_target::SUBSCRIBER,
};

pub(super) struct Worker {
    shared: Arc<Shared>,
    at: GroupPartition,
    lane: Lane,
    stop: CancellationToken,
    backoff: TransientBackoff,
    /// When what waits in the lane has to be kept from running out.
    keep_at: Instant,
}

/// What to do after a fetch.
enum Next {
    /// There may be more.
    Again,
    /// Look again after this long, or when the bell rings.
    Poll(Duration),
    /// Look again after this long.
    Pause(Duration),
    /// The lease is gone, or the backend is.
    End,
}

impl Worker {
    pub(super) fn new(
        shared: Arc<Shared>,
        partition: PartitionKey,
        stop: CancellationToken,
    ) -> Self {
        let batch = shared.checked.config.batch_size;
        // With a batch of one the next message cannot be had before this one is settled.
        let ring_at = (batch > 1).then_some(batch / 2);
        let lane = shared.buffer.open(partition.clone(), ring_at);
        let at = GroupPartition {
            topic: shared.checked.topic.clone(),
            group: shared.checked.group.clone(),
            partition,
        };
        let mut worker = Self {
            shared,
            at,
            lane,
            stop,
            backoff: TransientBackoff::new(),
            keep_at: Instant::now(),
        };
        worker.keep_later();
        worker
    }

    pub(super) async fn run(mut self) {
        tracing::debug!(
            target: SUBSCRIBER,
            topic = %self.at.topic, consumer_group = %self.at.group, partition = %self.at.partition,
            "reading a partition"
        );
        while !self.stop.is_cancelled() {
            // Asked before the fetch: a message's visibility must not be spent on waiting for room.
            let batch = self.shared.checked.config.batch_size;
            let room = batch.saturating_sub(self.lane.len());
            let next = if room * 2 >= batch {
                self.fetch(room).await
            } else {
                Next::Poll(self.shared.checked.config.poll_interval)
            };
            match next {
                Next::Again => {}
                Next::Poll(pause) => self.wait(pause, true).await,
                Next::Pause(pause) => self.wait(pause, false).await,
                Next::End => break,
            }
        }
        self.give_back().await;
    }

    async fn wait(&mut self, pause: Duration, can_ring: bool) {
        let until = Instant::now() + pause;
        loop {
            select! {
                () = self.stop.cancelled() => return,
                () = self.lane.rung(), if can_ring => return,
                () = tokio::time::sleep_until(until) => return,
                () = tokio::time::sleep_until(self.keep_at) => self.keep().await,
            }
        }
    }

    async fn fetch(&mut self, max: usize) -> Next {
        let config = &self.shared.checked.config;
        let request = FetchRequest {
            at: self.at.clone(),
            subscriber: self.shared.me.clone(),
            max,
            visibility: config.visibility_timeout,
            is_serial: config.batch_size == 1,
            receipt: Receipt(random()),
        };
        let good_until = Instant::now() + config.visibility_timeout;
        let backend = &self.shared.backend;
        let call = backend.inner.transactions().fetch(&request);
        match backend.timed(StoreKind::Transactions, "fetch", call).await {
            Ok(Fetch::Taken(taken)) => {
                self.backoff.reset();
                let is_full = taken.len() == max;
                self.hand_over(taken, request.receipt, good_until);
                if is_full {
                    Next::Again
                } else {
                    Next::Poll(self.shared.checked.config.poll_interval)
                }
            }
            Ok(Fetch::LeaseLost) => {
                self.say_lost();
                Next::End
            }
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&mut self, error: &Error) -> Next {
        self.shared.warn("fetch messages", error);
        if error.is_fatal() {
            return Next::End;
        }
        Next::Pause(self.backoff.next_pause())
    }

    fn say_lost(&self) {
        tracing::info!(
            target: SUBSCRIBER,
            topic = %self.at.topic, consumer_group = %self.at.group, partition = %self.at.partition,
            subscriber_name = %self.shared.me.name,
            "the lease on a partition is lost"
        );
    }

    fn hand_over(&mut self, taken: Vec<Delivered>, receipt: Receipt, good_until: Instant) {
        let mut ready = Vec::with_capacity(taken.len());
        for delivered in taken {
            let one = Ready {
                delivered,
                receipt,
                good_until,
            };
            ready.extend(self.sort_out(one));
        }
        if !ready.is_empty() && self.lane.len() == 0 {
            self.keep_later();
        }
        self.lane.push(ready);
    }

    /// Settles what the program is not to see.
    fn sort_out(&self, ready: Ready) -> Option<Ready> {
        let Delivered { message, attempt } = &ready.delivered;
        let config = &self.shared.checked.config;
        let is_for_others =
            marks::only_for(&message.metadata).is_some_and(|group| group != self.at.group.as_str());
        if is_for_others {
            self.leave(&ready, Verdict::Ack, EventKind::Acked);
            None
        } else if *attempt > config.retry.max_attempts {
            let times = attempt.saturating_sub(1);
            let error =
                format!("delivered {times} times and never answered: its consumer was lost");
            let (verdict, kind) = self.shared.giving_up(message, times, error);
            self.leave(&ready, verdict, kind);
            None
        } else {
            Some(ready)
        }
    }

    fn leave(&self, ready: &Ready, verdict: Verdict, kind: EventKind) {
        self.shared.answers.leave(Answer {
            settlement: self.settlement(ready, verdict),
            kind,
            good_until: ready.good_until,
            reply: None,
        });
    }

    fn settlement(&self, ready: &Ready, verdict: Verdict) -> Settlement {
        Settlement {
            partition: self.at.partition.clone(),
            offset: ready.delivered.message.offset,
            receipt: ready.receipt,
            verdict,
        }
    }

    fn keep_later(&mut self) {
        self.keep_at = Instant::now() + self.shared.checked.config.visibility_timeout / 3;
    }

    /// Keeps what waits in the lane from running out unseen.
    async fn keep(&mut self) {
        self.keep_later();
        let waiting = self.lane.waiting();
        if waiting.is_empty() {
            return;
        }
        let by = self.shared.checked.config.visibility_timeout;
        let until = Instant::now() + by;
        let backend = &self.shared.backend;
        let store = backend.inner.deliveries();
        let call = store.extend(&self.at.topic, &self.at.group, &waiting, by);
        match backend
            .timed(StoreKind::DeliveryState, "extend", call)
            .await
        {
            Ok(still) => self.lane.extended(&waiting, &still, until),
            Err(error) => {
                self.shared.warn("keep messages that wait", &error);
                let soon = Duration::from_millis(500).min(by / 10);
                self.keep_at = Instant::now() + soon;
            }
        }
    }

    /// Gives back what nobody has seen, with its attempt, so that it need not run out first.
    async fn give_back(&self) {
        let withdrawn = self.lane.withdraw();
        let answers = withdrawn.iter().map(|ready| {
            let settlement = self.settlement(ready, Verdict::Release);
            let released = EventKind::Released;
            self.shared
                .answers
                .settle(settlement, released, ready.good_until)
        });
        let _: Vec<Result<()>> = futures_util::future::join_all(answers).await;
    }
}
