//! What a received message says: which job, which attempt, and whether it is due.

use std::sync::Arc;

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName as System};

use crate::{
    attributes::{BASE, DEDUP, DUE, DUE_IN, GROUP, Marks},
    clock::ServerClock,
    held::Start,
    limits::{longest_hide, millis},
    queues::SqsQueue,
};

/// A message, read.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) start: Start,
    /// Attempts spent before this copy of the message.
    pub(crate) base: u32,
    /// When it is due, by the service's clock, where that is still to come.
    pub(crate) due: Option<u64>,
    /// FIFO: its place in the queue.
    pub(crate) sequence: u128,
}

impl Incoming {
    /// Reads a message; `None` when it lacks what every message has.
    pub(crate) fn read(
        queue: &Arc<SqsQueue>,
        message: Message,
        clock: &ServerClock,
        max_visibility: std::time::Duration,
    ) -> Option<Self> {
        let system = message.attributes.unwrap_or_default();
        let number = |name: System| system.get(&name).and_then(|text| text.parse::<u64>().ok());
        let marks = Marks::read(message.message_attributes);
        let message_id = message.message_id?;
        let receives = number(System::ApproximateReceiveCount).unwrap_or(1).max(1);
        let sent = number(System::SentTimestamp).unwrap_or_else(|| clock.now());
        let first = number(System::ApproximateFirstReceiveTimestamp);
        if let (1, Some(first)) = (receives, first) {
            clock.was(first);
        }
        let due = marks.number(DUE).or_else(|| {
            marks
                .number::<u64>(DUE_IN)
                .map(|due_in| sent.saturating_add(due_in))
        });
        let base: u32 = marks.number(BASE).unwrap_or(0);
        let early = early_receives(first, due, receives, millis(longest_hide(max_visibility)));
        let deliveries = u32::try_from(receives - early).unwrap_or(u32::MAX);
        let own_group = system.get(&System::MessageGroupId).cloned();
        let first_dedup = system.get(&System::MessageDeduplicationId).cloned();
        let start = Start {
            queue: Arc::clone(queue),
            id: marks.id(&message_id),
            receipt: message.receipt_handle?,
            body: marks.body(message.body.unwrap_or_default()),
            attempt: base.saturating_add(deliveries),
            sent,
            group: marks.text(GROUP).map(ToOwned::to_owned).or(own_group),
            dedup: marks.text(DEDUP).map(ToOwned::to_owned).or(first_dedup),
            message_id,
            foreign: marks.foreign,
        };
        Some(Self {
            start,
            base,
            due: due.filter(|due| *due > clock.now()),
            sequence: system
                .get(&System::SequenceNumber)
                .and_then(|text| text.parse().ok())
                .unwrap_or(0),
        })
    }
}

/// How many of the receives came before the message was due, and so were no deliveries. Each of them
/// hid the message until it was due, for `most` at a time: none is written down, but they follow
/// from the first.
fn early_receives(first: Option<u64>, due: Option<u64>, receives: u64, most: u64) -> u64 {
    match (first, due) {
        (Some(first), Some(due)) if first < due => {
            (due - first).div_ceil(most.max(1)).min(receives - 1)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::early_receives;

    #[test]
    fn receives_before_the_due_time_are_no_deliveries() {
        const HALF_A_DAY: u64 = 43_200_000;
        let early = |first, due, receives| early_receives(first, due, receives, HALF_A_DAY);
        assert_eq!(early(Some(5), None, 3), 0, "never delayed");
        assert_eq!(early(Some(500), Some(400), 3), 0, "first received when due");
        assert_eq!(
            early(Some(100), Some(400), 1),
            0,
            "the receive that is early itself"
        );
        assert_eq!(early(Some(100), Some(400), 2), 1);
        assert_eq!(early(Some(100), Some(400), 5), 1, "failures after it count");
        assert_eq!(
            early(Some(0), Some(HALF_A_DAY * 2 + 1), 4),
            3,
            "hidden three times"
        );
        assert_eq!(early(None, Some(400), 2), 0);
    }
}
