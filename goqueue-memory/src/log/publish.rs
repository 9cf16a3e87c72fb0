use goqueue_core::log::{Outgoing, Published, TopicName, store::PublishRequest};

use super::{partition::Times, state::State};

impl State {
    pub(super) fn publish(&mut self, request: &PublishRequest) -> Vec<Published> {
        let times = Times {
            visible: self.now.after(request.delay),
            ..self.at_once()
        };
        let append = |message: &Outgoing| self.append(&request.topic, message.clone(), times);
        request.messages.iter().map(append).collect()
    }

    /// The times of a message that is visible at once.
    pub(super) fn at_once(&self) -> Times {
        Times {
            now: self.now,
            unix_millis: self.unix_millis,
            visible: self.now,
        }
    }

    pub(super) fn append(&mut self, to: &TopicName, message: Outgoing, times: Times) -> Published {
        let partitions = &mut self.topic(to).partitions;
        let partition = partitions.entry(message.partition.clone()).or_default();
        partition.append(message, times)
    }
}
