use std::collections::{BTreeMap, BTreeSet};

use goqueue_core::log::store::{DeliveryState, Receipt};

use crate::clock::Moment;

/// Where one group stands on one partition.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The highest offset that was read.
    pub(super) cursor: u64,
    /// What was read and not acked.
    open: BTreeMap<u64, Open>,
    /// Those of `open` that are invisible, by when they will be visible.
    waiting: BTreeSet<(Moment, u64)>,
    /// The others.
    visible: BTreeSet<u64>,
    /// Those that were delivered before: none of them may be overtaken in a serial partition.
    begun: BTreeSet<u64>,
    /// Those of `waiting` that hold the partition.
    holding: BTreeSet<u64>,
}

#[derive(Debug)]
pub(super) struct Open {
    pub(super) attempt: u32,
    pub(super) until: Moment,
    pub(super) receipt: Option<Receipt>,
    pub(super) is_holding: bool,
    pub(super) last_error: Option<String>,
}

impl Reader {
    pub(super) fn at(offset: u64) -> Self {
        Self {
            cursor: offset,
            ..Self::default()
        }
    }

    pub(super) fn watermark(&self) -> u64 {
        match self.open.first_key_value() {
            Some((lowest, _)) => lowest - 1,
            None => self.cursor,
        }
    }

    pub(super) fn get(&self, offset: u64) -> Option<&Open> {
        self.open.get(&offset)
    }

    pub(super) fn states(&self, now: Moment) -> impl Iterator<Item = DeliveryState> {
        self.open.iter().map(move |(offset, open)| DeliveryState {
            offset: *offset,
            attempt: open.attempt,
            invisible_for: open.until.since(now),
            is_holding: open.is_holding && open.until > now,
            last_error: open.last_error.clone(),
        })
    }

    /// Whether the delivery is the message's last one.
    pub(super) fn is_current(&self, offset: u64, receipt: Receipt) -> bool {
        self.open
            .get(&offset)
            .is_some_and(|open| open.receipt == Some(receipt))
    }

    /// Moves what is due to the visible ones.
    pub(super) fn promote(&mut self, now: Moment) {
        while let Some((until, offset)) = self.waiting.first().copied() {
            if until > now {
                break;
            }
            self.waiting.pop_first();
            self.holding.remove(&offset);
            self.visible.insert(offset);
        }
    }

    /// Whether an invisible message holds the partition.
    pub(super) fn is_held(&self) -> bool {
        !self.holding.is_empty()
    }

    /// Up to `max` open messages that may be delivered, by offset.
    pub(super) fn due(&self, max: usize) -> Vec<u64> {
        self.visible.iter().copied().take(max).collect()
    }

    /// In a serial partition: the message that goes before all others, if there is one, and whether
    /// it may be delivered.
    pub(super) fn first_in_line(&self) -> Option<(u64, bool)> {
        let first = self.begun.first().copied()?;
        let is_due = self
            .begun
            .iter()
            .all(|offset| self.visible.contains(offset));
        Some((first, is_due))
    }

    /// Puts a message into the state that `change` gives it, made when it was not open.
    pub(super) fn put(&mut self, offset: u64, now: Moment, change: impl FnOnce(&mut Open)) {
        let mut open = self.take(offset).unwrap_or(Open {
            attempt: 0,
            until: now,
            receipt: None,
            is_holding: false,
            last_error: None,
        });
        change(&mut open);
        if open.until > now {
            self.waiting.insert((open.until, offset));
            if open.is_holding {
                self.holding.insert(offset);
            }
        } else {
            self.visible.insert(offset);
        }
        if open.attempt > 0 || open.is_holding {
            self.begun.insert(offset);
        }
        self.open.insert(offset, open);
    }

    /// Forgets a message: it is acked, or gone.
    pub(super) fn take(&mut self, offset: u64) -> Option<Open> {
        let open = self.open.remove(&offset)?;
        self.waiting.remove(&(open.until, offset));
        self.visible.remove(&offset);
        self.begun.remove(&offset);
        self.holding.remove(&offset);
        Some(open)
    }

    /// Forgets everything up to an offset, read or not.
    pub(super) fn skip_to(&mut self, offset: u64) {
        while let Some((lowest, _)) = self.open.first_key_value() {
            let lowest = *lowest;
            if lowest > offset {
                break;
            }
            self.take(lowest);
        }
        self.cursor = self.cursor.max(offset);
    }
}
