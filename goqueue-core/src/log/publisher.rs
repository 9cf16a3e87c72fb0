use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::time::timeout;
use tracing::Instrument;

use super::{
    handle::Inner,
    message::{NewMessage, Outgoing, Published},
    names::TopicName,
    observe::{EventKind, StoreKind},
    store::PublishRequest,
};
use crate::{
    error::{Error, Result},
    telemetry::{log_target, span},
};

/// Appends messages to topics. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Publisher(pub(super) Arc<Inner>);

impl Publisher {
    /// Publishes messages, in order, and answers for each one. See
    /// [`publish_after`](Publisher::publish_after) for everything else.
    ///
    /// # Errors
    /// As for `publish_after`.
    pub async fn publish(
        &self,
        topic: impl AsRef<str>,
        messages: impl IntoIterator<Item = NewMessage>,
    ) -> Result<Vec<Published>> {
        self.publish_after(topic, messages, Duration::ZERO).await
    }

    /// Publishes messages that become visible after `delay`, by the backend's clock. Later messages
    /// of their partitions do not wait for them.
    ///
    /// What the backend takes in one call is stored whole or not at all; more than that is split, in
    /// order. After an error some of the calls before may have stored theirs; to publish the same
    /// messages again is safe, and says which are duplicates.
    ///
    /// # Errors
    /// [`Error::Invalid`] and [`Error::MessageTooLarge`] before anything is stored; otherwise what
    /// the backend says, or [`Error::Timeout`] after `enqueue_timeout`.
    pub async fn publish_after(
        &self,
        topic: impl AsRef<str>,
        messages: impl IntoIterator<Item = NewMessage>,
        delay: Duration,
    ) -> Result<Vec<Published>> {
        let request = self.prepare(topic, messages, delay)?;
        let span = tracing::info_span!(
            target: log_target::PUBLISHER,
            span::LOG_PUBLISH,
            messaging.system = self.0.driver(),
            messaging.destination.name = %request.topic,
            messaging.batch.message_count = request.messages.len(),
        );
        self.send(request).instrument(span).await
    }

    /// Checks messages and makes a request of them without sending it, for backends that publish in
    /// the caller's own transaction.
    ///
    /// # Errors
    /// [`Error::Invalid`] and [`Error::MessageTooLarge`] name the first message that cannot be
    /// published.
    pub fn prepare(
        &self,
        topic: impl AsRef<str>,
        messages: impl IntoIterator<Item = NewMessage>,
        delay: Duration,
    ) -> Result<PublishRequest> {
        let topic = TopicName::new(topic)?;
        let limit = self.0.backend.inner.capabilities().max_payload;
        let check = |message: NewMessage| {
            let message = message.check()?;
            let size = message.size();
            if size > limit {
                return Err(Error::MessageTooLarge {
                    id: message.id.as_str().into(),
                    driver: self.0.driver(),
                    size,
                    limit,
                });
            }
            Ok(message)
        };
        let messages = messages.into_iter().map(check).collect::<Result<_>>()?;
        Ok(PublishRequest {
            topic,
            messages,
            delay,
        })
    }

    async fn send(&self, request: PublishRequest) -> Result<Vec<Published>> {
        let capabilities = self.0.backend.inner.capabilities();
        let PublishRequest {
            topic,
            messages,
            delay,
        } = request;
        let mut published = Vec::with_capacity(messages.len());
        for messages in batches(messages, capabilities.max_messages, capabilities.max_bytes) {
            let request = PublishRequest {
                topic: topic.clone(),
                messages,
                delay,
            };
            let answers = self.send_batch(&request).await?;
            self.tell(&request, &answers);
            published.extend(answers);
        }
        Ok(published)
    }

    async fn send_batch(&self, request: &PublishRequest) -> Result<Vec<Published>> {
        let after = self.0.config.enqueue_timeout;
        let backend = &self.0.backend;
        let call = backend.inner.transactions().publish(request);
        let call = backend.timed(StoreKind::Transactions, "publish", call);
        timeout(after, call).await.unwrap_or_else(|_| {
            Err(Error::Timeout {
                driver: self.0.driver(),
                operation: "publish",
                after,
            })
        })
    }

    fn tell(&self, request: &PublishRequest, answers: &[Published]) {
        let backend = &self.0.backend;
        if backend.observers.is_empty() {
            return;
        }
        let mut counts = BTreeMap::<_, [u64; 2]>::new();
        for (message, answer) in request.messages.iter().zip(answers) {
            let count = counts.entry(&message.partition).or_default();
            count[usize::from(answer.is_duplicate())] += 1;
        }
        for (partition, [stored, duplicate]) in counts {
            let tell = |kind, count| {
                backend.happened(&request.topic, None, partition, kind, count);
            };
            tell(EventKind::Published, stored);
            tell(EventKind::Duplicate, duplicate);
        }
    }
}

/// Splits messages into calls, in order. A message that is larger than a call may be goes alone.
fn batches(messages: Vec<Outgoing>, most: usize, bytes: usize) -> Vec<Vec<Outgoing>> {
    let mut batches = Vec::new();
    let (mut batch, mut size) = (Vec::new(), 0);
    for message in messages {
        let more = message.size();
        if !batch.is_empty() && (batch.len() >= most || size + more > bytes) {
            batches.push(std::mem::take(&mut batch));
            size = 0;
        }
        size += more;
        batch.push(message);
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_no_more_messages_and_bytes_than_it_may() {
        let message = |size: usize| {
            NewMessage::new("1", vec![0; size - 2], "p")
                .check()
                .unwrap()
        };
        let sizes = [10, 10, 10, 25, 5, 100, 1];
        let messages = sizes.map(|size| message(size + 2)).to_vec();
        let messages: Vec<_> = messages.into_iter().collect();
        let split: Vec<Vec<_>> = batches(messages, 3, 50)
            .iter()
            .map(|batch| batch.iter().map(|m| m.size() - 2).collect())
            .collect();
        assert_eq!(split, [vec![10, 10, 10], vec![25, 5], vec![100], vec![1]]);
        assert!(batches(Vec::new(), 3, 50).is_empty());
    }
}
