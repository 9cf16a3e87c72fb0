//! Which queues there are, and how they are set up.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use aws_sdk_sqs::{Client, types::QueueAttributeName as Attribute};
use futures_util::{StreamExt, TryStreamExt, stream};
use goqueue_core::{Config, QueueName, dead_letter::DeadLetterMode};

use super::date::Watch;
use crate::{
    config::Settings,
    error::{Fault, Meaning},
    names::Names,
    queues::RedrivePolicy,
};

/// The most queues that are looked at.
pub(super) const MOST: usize = 100;
/// How many are asked for at once.
const AT_ONCE: usize = 8;
const DIAGNOSE: &str = "diagnose";

/// Where the queues are.
pub(super) struct Place {
    pub(super) client: Client,
    pub(super) region: String,
    pub(super) settings: Settings,
}

/// The queues under the prefix: the first thousand, which is what one call tells.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) is_allowed: bool,
    /// Those of the configured kind: URLs by name on SQS.
    ours: BTreeMap<String, String>,
    /// FIFO queues where standard ones are meant, or the other way round.
    pub(super) others: Vec<String>,
}

/// A queue that was looked at.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) on_sqs: String,
    pub(super) url: String,
    pub(super) is_dead: bool,
    attributes: HashMap<Attribute, String>,
}

/// What looking at them found.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) queues: Vec<Queue>,
    /// Names on SQS of those that should be there and are not.
    pub(super) missing: Vec<String>,
    /// Names of those that may not be looked at.
    pub(super) closed: Vec<String>,
    /// How many were left out.
    pub(super) left_out: usize,
}

impl Queue {
    fn number(&self, attribute: &Attribute) -> Option<u64> {
        self.attributes.get(attribute)?.parse().ok()
    }

    pub(super) fn retention(&self) -> Option<Duration> {
        self.number(&Attribute::MessageRetentionPeriod)
            .map(Duration::from_secs)
    }

    pub(super) fn max_message(&self) -> Option<u64> {
        self.number(&Attribute::MaximumMessageSize)
    }

    pub(super) fn delay(&self) -> Duration {
        Duration::from_secs(self.number(&Attribute::DelaySeconds).unwrap_or_default())
    }

    pub(super) fn redrive_policy(&self) -> Option<RedrivePolicy> {
        RedrivePolicy::read(self.attributes.get(&Attribute::RedrivePolicy)?)
    }

    /// Whether a deduplication id is compared only with those of the same group.
    pub(super) fn deduplicates_by_group(&self) -> bool {
        self.attributes
            .get(&Attribute::DeduplicationScope)
            .is_some_and(|scope| scope == "messageGroup")
    }
}

impl Place {
    /// The endpoint or the region, in words.
    pub(super) fn address(&self) -> String {
        match &self.settings.table.endpoint {
            Some(endpoint) => endpoint.clone(),
            None => format!("SQS in {}", self.region),
        }
    }

    /// What the queue that everything uses by default is called.
    pub(super) fn example(&self) -> String {
        let names = &self.settings.names;
        let name = QueueName::new("default").and_then(|queue| names.jobs(&queue));
        name.unwrap_or_default()
    }

    /// Lists what is under the prefix.
    pub(super) async fn list(&self, watch: &Watch) -> Result<Listed, Fault> {
        let names = &self.settings.names;
        let mut call = self.client.list_queues().max_results(1_000);
        if !names.prefix.is_empty() {
            call = call.queue_name_prefix(&names.prefix);
        }
        let answer = call.customize().interceptor(watch.clone()).send().await;
        let answer = answer.map_err(|error| Fault::of(DIAGNOSE, &error))?;
        let of_the_other_kind = Names {
            is_fifo: !names.is_fifo,
            ..names.clone()
        };
        let mut listed = Listed {
            is_allowed: true,
            ..Listed::default()
        };
        for url in answer.queue_urls() {
            let on_sqs = url.rsplit('/').next().unwrap_or_default().to_owned();
            if names.queue_of(&on_sqs).is_some() {
                listed.ours.insert(on_sqs, url.clone());
            } else if of_the_other_kind.queue_of(&on_sqs).is_some() {
                listed.others.push(on_sqs);
            }
        }
        Ok(listed)
    }

    /// Looks at the queues that are listed and at those that workers are configured to serve, and
    /// finds out which are missing.
    pub(super) async fn look_at(&self, config: &Config, listed: &Listed) -> Result<Seen, Fault> {
        let names = &self.settings.names;
        let known = listed.ours.keys().filter_map(|name| names.queue_of(name));
        let configured = config.worker.queues.keys().cloned();
        let queues: BTreeSet<QueueName> = known.chain(configured).collect();
        let has_letters = config.dead_letter.mode == DeadLetterMode::Store;
        let mut wanted = BTreeSet::new();
        for queue in &queues {
            // A name that SQS cannot have is refused when it is used, by name.
            wanted.extend(names.jobs(queue).ok());
            if has_letters {
                wanted.extend(names.dead(queue).ok());
            }
        }
        wanted.extend(listed.ours.keys().cloned());

        let left_out = wanted.len().saturating_sub(MOST);
        let looks = wanted.into_iter().take(MOST).map(|on_sqs| async {
            let found = self.queue(listed, &on_sqs).await?;
            Ok::<_, Fault>((on_sqs, found))
        });
        let found: Vec<_> = stream::iter(looks).buffered(AT_ONCE).try_collect().await?;
        let mut seen = Seen {
            left_out,
            ..Seen::default()
        };
        for (on_sqs, found) in found {
            match found {
                Found::There(queue) => seen.queues.push(*queue),
                Found::Missing => seen.missing.push(on_sqs),
                Found::Closed => seen.closed.push(on_sqs),
            }
        }
        Ok(seen)
    }

    async fn queue(&self, listed: &Listed, on_sqs: &str) -> Result<Found, Fault> {
        let found = async {
            let url = match listed.ours.get(on_sqs) {
                Some(url) => url.clone(),
                None => self.url_of(on_sqs).await?,
            };
            let call = self.client.get_queue_attributes().queue_url(&url);
            let answer = call.attribute_names(Attribute::All).send().await;
            let answer = answer.map_err(|error| Fault::of(DIAGNOSE, &error))?;
            Ok(Queue {
                on_sqs: on_sqs.to_owned(),
                url,
                is_dead: Names::is_dead(on_sqs),
                attributes: answer.attributes.unwrap_or_default(),
            })
        };
        match found.await {
            Ok(queue) => Ok(Found::There(Box::new(queue))),
            Err(Fault {
                meaning: Meaning::NoQueue,
                ..
            }) => Ok(Found::Missing),
            Err(Fault {
                meaning: Meaning::Denied,
                ..
            }) => Ok(Found::Closed),
            Err(fault) => Err(fault),
        }
    }

    async fn url_of(&self, on_sqs: &str) -> Result<String, Fault> {
        let answer = self.client.get_queue_url().queue_name(on_sqs).send().await;
        let answer = answer.map_err(|error| Fault::of(DIAGNOSE, &error))?;
        Ok(answer.queue_url.unwrap_or_default())
    }
}

enum Found {
    There(Box<Queue>),
    Missing,
    Closed,
}
