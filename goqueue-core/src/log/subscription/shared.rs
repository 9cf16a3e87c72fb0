use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{acker::Answers, buffer::Buffer, counts::Counts};
use crate::{
    error::Error,
    log::{
        backend::Backend,
        config::Checked,
        message::Message,
        observe::EventKind,
        store::{Dead, SubscriberId, Verdict},
    },
    telemetry::log_target::SUBSCRIBER,
};

/// What supervisor, workers and deliveries of one subscription have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) backend: Backend,
    pub(super) checked: Arc<Checked>,
    pub(super) me: SubscriberId,
    pub(super) buffer: Arc<Buffer>,
    pub(super) answers: Answers,
    pub(super) counts: Arc<Counts>,
    pub(super) stopping: CancellationToken,
}

impl Shared {
    /// How a message is given up.
    pub(super) fn giving_up(
        &self,
        message: &Message,
        attempts: u32,
        error: String,
    ) -> (Verdict, EventKind) {
        let Checked {
            topic,
            group,
            subscriber,
            dead_letters,
            ..
        } = &*self.checked;
        let (partition, offset, id) = (&message.partition, message.offset, &message.id);
        match dead_letters {
            Some(letters) => {
                tracing::warn!(
                    target: SUBSCRIBER,
                    %topic, consumer_group = %group, subscriber_name = %subscriber, %partition,
                    offset, %id, attempts, error, dead_letters = %letters,
                    "a message is dead-lettered"
                );
                let dead = Dead {
                    topic: letters.clone(),
                    attempts,
                    error,
                };
                (Verdict::Dead(dead), EventKind::DeadLettered)
            }
            None => {
                tracing::warn!(
                    target: SUBSCRIBER,
                    %topic, consumer_group = %group, subscriber_name = %subscriber, %partition,
                    offset, %id, attempts, error,
                    "a message is dropped, as dead letters are disabled"
                );
                (Verdict::Ack, EventKind::Dropped)
            }
        }
    }

    /// Says that something failed, once, with everything needed to find it.
    pub(super) fn warn(&self, doing: &'static str, error: &Error) {
        let Checked { topic, group, .. } = &*self.checked;
        tracing::warn!(
            target: SUBSCRIBER,
            %topic, consumer_group = %group, subscriber_name = %self.me.name, %error,
            "failed to {doing}; trying again"
        );
    }
}

impl Shared {
    /// Says that something failed which is not tried again.
    pub(super) fn warn_last(&self, doing: &'static str, error: &dyn std::fmt::Display) {
        let Checked { topic, group, .. } = &*self.checked;
        tracing::warn!(
            target: SUBSCRIBER,
            %topic, consumer_group = %group, subscriber_name = %self.me.name, %error,
            "failed to {doing}; left to run out"
        );
    }
}
