//! The queues on SQS: their URLs and attributes, asked for once and then remembered.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use aws_sdk_sqs::{Client, types::QueueAttributeName as Attribute};
use goqueue_core::{QueueName, Result};
use tokio::time::Instant;

use crate::{
    config::Settings,
    driver::Inner,
    error::{Fault, Meaning, Operation},
    limits::{MAX_MESSAGE, MAX_WAIT, RETENTION},
    poll::Polls,
};

/// How long a queue that was not there is taken for missing by a worker of several queues.
const MISSING: Duration = Duration::from_secs(10);

/// A queue on SQS.
#[derive(Debug)]
pub(crate) struct SqsQueue {
    /// What goqueue calls it.
    pub(crate) name: QueueName,
    /// What SQS calls it.
    pub(crate) on_sqs: String,
    pub(crate) url: String,
    pub(crate) max_message: usize,
    pub(crate) retention: Duration,
    redrive_policy: Option<RedrivePolicy>,
    /// When a receive last brought nothing; `None` while there is something.
    quiet_since: Mutex<Option<Instant>>,
    is_full: AtomicBool,
    pub(crate) polls: Polls,
}

/// A redrive policy that somebody set on a queue. SQS itself then moves a message that was received
/// too often, without a reason on it, and past goqueue's dead letters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedrivePolicy {
    /// Receives after which SQS moves a message.
    pub max_receive_count: u32,
    /// The ARN of the queue it is moved to.
    pub target: String,
}

impl SqsQueue {
    /// When it was last seen empty, unless something came since.
    pub(crate) fn quiet_since(&self) -> Option<Instant> {
        *lock(&self.quiet_since)
    }

    /// Takes down how many of the messages asked for came.
    pub(crate) fn gave(&self, count: usize, asked: usize) {
        *lock(&self.quiet_since) = (count == 0).then(Instant::now);
        self.is_full.store(count >= asked, Ordering::Relaxed);
    }

    /// Whether the last receive brought all that it asked for, so that there may be more.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }
}

/// The queues that are known, by their names on SQS.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    known: Mutex<HashMap<String, Arc<SqsQueue>>>,
    missing: Mutex<HashMap<String, Instant>>,
}

impl Queues {
    fn known(&self, on_sqs: &str) -> Option<Arc<SqsQueue>> {
        lock(&self.known).get(on_sqs).cloned()
    }

    /// Forgets a queue that turned out to be gone.
    pub(crate) fn forget(&self, on_sqs: &str) {
        lock(&self.known).remove(on_sqs);
    }

    pub(crate) fn is_missing(&self, on_sqs: &str) -> bool {
        let missing = lock(&self.missing);
        missing
            .get(on_sqs)
            .is_some_and(|since| since.elapsed() < MISSING)
    }
}

impl Inner {
    /// The queue for the jobs of `queue`.
    pub(crate) async fn jobs_of(
        &self,
        queue: &QueueName,
        operation: Operation,
    ) -> Result<Arc<SqsQueue>> {
        let on_sqs = self.settings.names.jobs(queue)?;
        Ok(self
            .queue(queue, on_sqs, operation, self.settings.table.create_queues)
            .await?)
    }

    /// The queue for the dead letters of `queue`.
    pub(crate) async fn dead_of(
        &self,
        queue: &QueueName,
        operation: Operation,
    ) -> Result<Arc<SqsQueue>> {
        let on_sqs = self.settings.names.dead(queue)?;
        Ok(self
            .queue(queue, on_sqs, operation, self.settings.table.create_queues)
            .await?)
    }

    /// The same for a look: nothing is made for it, and a queue that is missing is `None`.
    pub(crate) async fn existing(
        &self,
        queue: &QueueName,
        on_sqs: String,
        operation: Operation,
    ) -> Result<Option<Arc<SqsQueue>>> {
        match self.queue(queue, on_sqs, operation, false).await {
            Ok(found) => Ok(Some(found)),
            Err(fault) if fault.meaning == Meaning::NoQueue => Ok(None),
            Err(fault) => Err(fault.into()),
        }
    }

    async fn queue(
        &self,
        name: &QueueName,
        on_sqs: String,
        operation: Operation,
        create: bool,
    ) -> Result<Arc<SqsQueue>, Fault> {
        if let Some(known) = self.queues.known(&on_sqs) {
            return Ok(known);
        }
        let url = match url_of(&self.client, &on_sqs, operation).await {
            Err(fault) if fault.meaning == Meaning::NoQueue && create => {
                self.create(&on_sqs, operation).await?
            }
            Err(fault) if fault.meaning == Meaning::NoQueue => {
                // A look that found nothing is no reason not to create the queue later.
                if !self.settings.table.create_queues {
                    lock(&self.queues.missing).insert(on_sqs.clone(), Instant::now());
                }
                return Err(self.no_such_queue(&on_sqs, operation));
            }
            url => url?,
        };
        let found = Arc::new(self.examine(name, on_sqs, url, operation).await?);
        lock(&self.queues.missing).remove(&found.on_sqs);
        // Whoever was first wins, so that there is one of each.
        let mut known = lock(&self.queues.known);
        Ok(Arc::clone(
            known.entry(found.on_sqs.clone()).or_insert(found),
        ))
    }

    pub(crate) fn no_such_queue(&self, on_sqs: &str, operation: Operation) -> Fault {
        let text = format!(
            "there is no queue `{on_sqs}` in {}: create it, or let goqueue do so with \
             `sqs.create_queues = true`",
            self.region
        );
        Fault::new(Meaning::NoQueue, operation, text)
    }

    async fn create(&self, on_sqs: &str, operation: Operation) -> Result<String, Fault> {
        let is_dead = on_sqs.ends_with("-dead") || on_sqs.ends_with("-dead.fifo");
        let attributes = attributes_of_new(&self.settings, is_dead);
        let call = self
            .client
            .create_queue()
            .queue_name(on_sqs)
            .set_attributes(Some(attributes.into_iter().collect()));
        match call.send().await {
            Ok(answer) => {
                tracing::info!(queue = on_sqs, "queue created");
                answer.queue_url.ok_or_else(|| no_url(operation))
            }
            // Another process was first, perhaps with other attributes.
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(|e| e.is_queue_name_exists()) =>
            {
                url_of(&self.client, on_sqs, operation).await
            }
            Err(error) => Err(Fault::of(operation, &error)),
        }
    }

    async fn examine(
        &self,
        name: &QueueName,
        on_sqs: String,
        url: String,
        operation: Operation,
    ) -> Result<SqsQueue, Fault> {
        let wanted = [
            Attribute::MaximumMessageSize,
            Attribute::MessageRetentionPeriod,
            Attribute::RedrivePolicy,
        ];
        let call = self.client.get_queue_attributes().queue_url(&url);
        let attributes = match call.set_attribute_names(Some(wanted.to_vec())).send().await {
            Ok(answer) => answer.attributes.unwrap_or_default(),
            Err(error) => match Fault::of(operation, &error) {
                fault if fault.meaning == Meaning::Denied => {
                    tracing::warn!(
                        queue = on_sqs,
                        "the attributes of the queue may not be read (sqs:GetQueueAttributes): a \
                         smaller size limit, a short retention and a redrive policy go unnoticed"
                    );
                    HashMap::default()
                }
                fault => return Err(fault),
            },
        };
        let number = |name| {
            attributes
                .get(&name)
                .and_then(|text| text.parse::<u64>().ok())
        };
        let retention =
            number(Attribute::MessageRetentionPeriod).map_or(*RETENTION.end(), Duration::from_secs);
        let limit = number(Attribute::MaximumMessageSize).and_then(|limit| limit.try_into().ok());
        let redrive_policy = attributes
            .get(&Attribute::RedrivePolicy)
            .and_then(|text| RedrivePolicy::read(text));
        if let Some(policy) = &redrive_policy {
            tracing::warn!(
                queue = on_sqs,
                max_receive_count = policy.max_receive_count,
                target = policy.target,
                "the queue has a redrive policy: SQS moves a job there after so many receives, \
                 without a reason and past goqueue's dead letters; it is left as it is"
            );
        }
        Ok(SqsQueue {
            name: name.clone(),
            on_sqs,
            url,
            max_message: limit.unwrap_or(MAX_MESSAGE),
            retention,
            redrive_policy,
            quiet_since: Mutex::default(),
            is_full: AtomicBool::new(false),
            polls: Polls::default(),
        })
    }

    /// The redrive policy that somebody set on the queue.
    pub(crate) async fn redrive_policy(&self, queue: &QueueName) -> Result<Option<RedrivePolicy>> {
        Ok(self.jobs_of(queue, "inspect").await?.redrive_policy.clone())
    }
}

/// The URL of a queue by its name on SQS.
pub(crate) async fn url_of(
    client: &Client,
    on_sqs: &str,
    operation: Operation,
) -> Result<String, Fault> {
    let answer = client.get_queue_url().queue_name(on_sqs).send().await;
    let answer = answer.map_err(|error| Fault::of(operation, &error))?;
    answer.queue_url.ok_or_else(|| no_url(operation))
}

/// What a queue is made with, for jobs or for dead letters.
pub(crate) fn attributes_of_new(settings: &Settings, is_dead: bool) -> Vec<(Attribute, String)> {
    let kept = if is_dead {
        settings.dead_retention
    } else {
        *RETENTION.end()
    };
    let mut attributes = vec![
        (
            Attribute::MessageRetentionPeriod,
            kept.as_secs().to_string(),
        ),
        (Attribute::MaximumMessageSize, MAX_MESSAGE.to_string()),
        (
            Attribute::ReceiveMessageWaitTimeSeconds,
            MAX_WAIT.as_secs().to_string(),
        ),
    ];
    if settings.names.is_fifo {
        attributes.push((Attribute::FifoQueue, "true".into()));
    }
    attributes
}

impl RedrivePolicy {
    pub(crate) fn read(text: &str) -> Option<Self> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Raw {
            dead_letter_target_arn: String,
            max_receive_count: Count,
        }
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum Count {
            Number(u32),
            Text(String),
        }
        let raw: Raw = serde_json::from_str(text).ok()?;
        Some(Self {
            max_receive_count: match raw.max_receive_count {
                Count::Number(count) => count,
                Count::Text(text) => text.parse().ok()?,
            },
            target: raw.dead_letter_target_arn,
        })
    }
}

fn no_url(operation: Operation) -> Fault {
    Fault::new(
        Meaning::Permanent,
        operation,
        "the service answered without the queue's URL",
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
