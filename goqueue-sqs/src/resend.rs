//! Copies of messages: what SQS cannot change in a message that it keeps, a copy can say.

use std::{sync::Arc, time::Duration};

use goqueue_core::{Error, Result};

use crate::{
    attributes::{BASE, DEDUP, DUE, job_message, number, text},
    batch::Entry,
    driver::Inner,
    held::Held,
    keys,
    limits::{millis, seconds, size},
    push::{Outgoing, outgoing},
};

/// Above this share of the retention a message is too old to be hidden any longer: SQS deletes it at
/// the end of it, hidden or not, and a copy starts anew.
const OLD: (u64, u64) = (3, 4);

/// How a copy differs from its original.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changes {
    /// Attempts spent before the copy.
    pub(crate) base: u32,
    /// When it is due, by the service's clock.
    pub(crate) due: u64,
}

impl Inner {
    /// The message of a copy that is due `delay` from now.
    pub(crate) fn copy_after(
        &self,
        held: &Held,
        base: u32,
        delay: Duration,
        place: usize,
    ) -> Result<Entry<Outgoing>> {
        let due = self.clock.now().saturating_add(millis(delay));
        self.copy(held, Changes { base, due }, delay, place)
    }

    /// The message of a copy with these changes; `delay` from now it is due.
    pub(crate) fn copy(
        &self,
        held: &Held,
        changes: Changes,
        delay: Duration,
        place: usize,
    ) -> Result<Entry<Outgoing>> {
        let is_fifo = self.settings.names.is_fifo;
        let longest = self.settings.table.max_delay;
        let is_marked = !delay.is_zero() && (is_fifo || delay > longest);
        let marks = [
            (changes.base > 0)
                .then(|| number(BASE, changes.base.into()))
                .flatten(),
            is_marked.then(|| number(DUE, changes.due)).flatten(),
            held.dedup.as_deref().and_then(|dedup| text(DEDUP, dedup)),
        ];
        let limit = held.queue.max_message;
        let (body, attributes) = job_message(held.id, &held.body, marks, &held.foreign, limit)?;
        let size = size(&body, &attributes);
        let mut what = outgoing(body, attributes);
        if is_fifo {
            let own = || held.id.to_string();
            what.message_group_id = Some(held.group.clone().unwrap_or_else(own));
            what.message_deduplication_id = Some(keys::copy_of(held.id, &held.message_id));
        } else {
            what.delay_seconds = Some(seconds(delay.min(longest)));
        }
        Ok(Entry { place, size, what })
    }

    /// Whether a message is still kept well beyond `delay` from now, so that it may be hidden until
    /// then.
    pub(crate) fn outlives(&self, held: &Held, delay: Duration) -> bool {
        let age = self
            .clock
            .now()
            .saturating_sub(held.sent)
            .saturating_add(millis(delay));
        age <= millis(held.queue.retention) / OLD.1 * OLD.0
    }

    /// Puts messages that came before they were due back until then, without a delivery spent: on a
    /// standard queue as copies, on a FIFO queue by hiding them, which keeps their place. What fails
    /// comes back when its lease ends.
    pub(crate) async fn put_back(&self, early: Vec<(Arc<Held>, Changes)>) {
        let now = self.clock.now();
        let longest = self.settings.table.max_visibility;
        let (mut copies, mut hidden) = (Vec::new(), Vec::new());
        for (place, (held, changes)) in early.iter().enumerate() {
            let left = Duration::from_millis(changes.due.saturating_sub(now));
            let hide = left.min(held.hideable(longest));
            if self.settings.names.is_fifo && self.outlives(held, hide) {
                hidden.push((place, Arc::clone(held), hide));
                continue;
            }
            match self.copy(held, *changes, left, place) {
                Ok(copy) => copies.push((Arc::clone(held), copy)),
                Err(error) => stays(held, &error),
            }
        }
        let moved = self.move_all(copies, "reserve").await;
        let hides = self.hide_all(hidden, "reserve").await;
        for (place, answer) in moved.into_iter().chain(hides) {
            if let Err(fault) = answer {
                stays(&early[place].0, &fault.into());
            }
        }
    }
}

fn stays(held: &Held, error: &Error) {
    tracing::warn!(job = %held.id, %error, "a delayed job comes again when its lease ends");
}
