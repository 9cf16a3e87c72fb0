//! What is fetched and not handed out yet.
//!
//! Each worker has a lane of its own, of which it knows how much room is left before it fetches, so
//! that no message waits for room with its visibility running; and lanes are emptied in turn, so that
//! a long one delays no other.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use tokio::{sync::Notify, time::Instant};

use crate::log::{
    names::PartitionKey,
    store::{Delivered, OpenMessage, Receipt, Settled},
};

/// A message that was fetched.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) delivered: Delivered,
    pub(super) receipt: Receipt,
    /// Until when nobody else is given it, by this program's clock.
    pub(super) good_until: Instant,
}

impl Ready {
    pub(super) fn open(&self) -> OpenMessage {
        OpenMessage {
            partition: self.delivered.message.partition.clone(),
            offset: self.delivered.message.offset,
            receipt: self.receipt,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Buffer(Mutex<Lanes>);

#[derive(Debug, Default)]
struct Lanes {
    lanes: HashMap<u64, LaneState>,
    /// Those that hold something, the next one to be emptied first.
    turns: VecDeque<u64>,
    last: u64,
    waker: Option<Waker>,
    is_closed: bool,
}

#[derive(Debug)]
struct LaneState {
    partition: PartitionKey,
    ready: VecDeque<Ready>,
    bell: Arc<Notify>,
    /// Rings the bell once no more than this many are left.
    ring_at: Option<usize>,
}

/// One worker's part of the buffer. What is in it goes with it.
#[derive(Debug)]
pub(super) struct Lane {
    buffer: Arc<Buffer>,
    id: u64,
    bell: Arc<Notify>,
}

impl Buffer {
    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A lane whose bell rings when it has been emptied down to `ring_at`.
    pub(super) fn open(self: &Arc<Self>, partition: PartitionKey, ring_at: Option<usize>) -> Lane {
        let mut lanes = self.lanes();
        lanes.last += 1;
        let (id, bell) = (lanes.last, Arc::new(Notify::new()));
        let state = LaneState {
            partition,
            ready: VecDeque::new(),
            bell: Arc::clone(&bell),
            ring_at,
        };
        lanes.lanes.insert(id, state);
        let buffer = Arc::clone(self);
        Lane { buffer, id, bell }
    }

    /// The next message of the lane whose turn it is; `None` once the buffer is closed and empty.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<Ready>> {
        let mut guard = self.lanes();
        let lanes = &mut *guard;
        while let Some(id) = lanes.turns.pop_front() {
            let Some(lane) = lanes.lanes.get_mut(&id) else {
                continue;
            };
            let Some(ready) = lane.ready.pop_front() else {
                continue;
            };
            if lane.ring_at == Some(lane.ready.len()) {
                lane.bell.notify_one();
            }
            if !lane.ready.is_empty() {
                lanes.turns.push_back(id);
            }
            return Poll::Ready(Some(ready));
        }
        if lanes.is_closed {
            return Poll::Ready(None);
        }
        lanes.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Has the workers of these partitions look again at once.
    pub(super) fn poke<'a>(&self, partitions: impl IntoIterator<Item = &'a PartitionKey>) {
        let partitions: Vec<_> = partitions.into_iter().collect();
        for lane in self.lanes().lanes.values() {
            if partitions.contains(&&lane.partition) {
                lane.bell.notify_one();
            }
        }
    }

    /// Ends the stream once the buffer is empty.
    pub(super) fn close(&self) {
        let mut lanes = self.lanes();
        lanes.is_closed = true;
        if let Some(waker) = lanes.waker.take() {
            waker.wake();
        }
    }
}

impl Lane {
    fn with<T>(&self, look: impl FnOnce(&mut LaneState) -> T) -> Option<T> {
        self.buffer.lanes().lanes.get_mut(&self.id).map(look)
    }

    pub(super) fn len(&self) -> usize {
        self.with(|lane| lane.ready.len()).unwrap_or_default()
    }

    pub(super) fn push(&self, ready: Vec<Ready>) {
        if ready.is_empty() {
            return;
        }
        let mut guard = self.buffer.lanes();
        let lanes = &mut *guard;
        let Some(lane) = lanes.lanes.get_mut(&self.id) else {
            return;
        };
        if lane.ready.is_empty() {
            lanes.turns.push_back(self.id);
        }
        lane.ready.extend(ready);
        if let Some(waker) = lanes.waker.take() {
            waker.wake();
        }
    }

    /// What waits.
    pub(super) fn waiting(&self) -> Vec<OpenMessage> {
        self.with(|lane| lane.ready.iter().map(Ready::open).collect())
            .unwrap_or_default()
    }

    /// Notes which of the messages that waited are still good, and until when; the others leave.
    pub(super) fn extended(&self, waited: &[OpenMessage], still: &[Settled], until: Instant) {
        let mut outcomes: HashMap<_, _> = waited
            .iter()
            .zip(still)
            .map(|(open, settled)| ((open.offset, open.receipt), *settled))
            .collect();
        self.with(|lane| {
            lane.ready.retain_mut(|ready| {
                let key = (ready.delivered.message.offset, ready.receipt);
                match outcomes.remove(&key) {
                    Some(Settled::Lost) => false,
                    Some(Settled::Done) => {
                        ready.good_until = until;
                        true
                    }
                    None => true,
                }
            });
        });
    }

    /// Takes back what nobody has seen.
    pub(super) fn withdraw(&self) -> Vec<Ready> {
        self.with(|lane| lane.ready.drain(..).collect())
            .unwrap_or_default()
    }

    /// Waits until there is room, or something has been settled.
    pub(super) async fn rung(&self) {
        self.bell.notified().await;
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.buffer.lanes().lanes.remove(&self.id);
    }
}
