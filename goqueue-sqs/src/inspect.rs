use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use aws_sdk_sqs::types::QueueAttributeName as Attribute;
use goqueue_core::{
    Error, JobId, QueueName, Result,
    driver::{
        DeadLetterInfo, Inspect, JobInfo, JobState, Page, PageRequest, QueueStats, Selection,
    },
};

use crate::{
    SqsDriver,
    driver::{Inner, NAME},
    error::Fault,
    queues::SqsQueue,
};

pub(crate) const INSPECT: &str = "inspect";

/// What SQS counts, as far as it knows at the moment.
struct Counts {
    visible: u64,
    delayed: u64,
    hidden: u64,
}

#[async_trait]
impl Inspect for SqsDriver {
    async fn queues(&self) -> Result<Vec<QueueName>> {
        let _pass = self.0.gate.enter()?;
        self.0.all_queues().await
    }

    async fn stats(&self, queue: &QueueName) -> Result<QueueStats> {
        let _pass = self.0.gate.enter()?;
        self.0.stats(queue).await
    }

    /// Refused: SQS shows no message that it does not hand out, and to hand it out counts as a
    /// delivery of the job.
    async fn peek(&self, _: &QueueName, _: JobState, _: PageRequest) -> Result<Page<JobInfo>> {
        Err(Error::Unsupported {
            driver: NAME,
            capability: "listing jobs: SQS shows a message only to who receives it, which spends an \
                         attempt of the job; `stats` counts them",
        })
    }

    async fn dead_letters(
        &self,
        queue: &QueueName,
        page: PageRequest,
    ) -> Result<Page<DeadLetterInfo>> {
        let _pass = self.0.gate.enter()?;
        self.0.dead_page(queue, &page).await
    }

    async fn dead_letter(&self, queue: &QueueName, id: JobId) -> Result<Option<DeadLetterInfo>> {
        let _pass = self.0.gate.enter()?;
        self.0.dead_letter(queue, id).await
    }

    async fn requeue_dead(&self, queue: &QueueName, which: Selection) -> Result<u64> {
        let _pass = self.0.gate.enter()?;
        self.0.requeue_dead(queue, &which).await
    }

    async fn delete_dead(&self, queue: &QueueName, which: Selection) -> Result<u64> {
        let _pass = self.0.gate.enter()?;
        self.0.delete_dead(queue, &which).await
    }

    /// Removes the jobs that are ready. Refused, with nothing removed, while there are delayed ones:
    /// SQS hands them out to nobody, and its own `PurgeQueue`, which reaches them, removes running
    /// jobs too. Retries that wait are hidden like running jobs, and stay.
    async fn purge(&self, queue: &QueueName) -> Result<u64> {
        let _pass = self.0.gate.enter()?;
        self.0.purge(queue).await
    }
}

impl Inner {
    async fn all_queues(&self) -> Result<Vec<QueueName>> {
        let names = &self.settings.names;
        let mut call = self.client.list_queues().max_results(1_000);
        if !names.prefix.is_empty() {
            call = call.queue_name_prefix(&names.prefix);
        }
        let mut pages = call.into_paginator().send();
        let mut found = BTreeSet::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| Fault::of(INSPECT, &error))?;
            let urls = page.queue_urls.unwrap_or_default();
            let on_sqs = urls.iter().filter_map(|url| url.rsplit('/').next());
            found.extend(on_sqs.filter_map(|on_sqs| names.queue_of(on_sqs)));
        }
        Ok(found.into_iter().collect())
    }

    async fn stats(&self, queue: &QueueName) -> Result<QueueStats> {
        let names = &self.settings.names;
        let mut stats = QueueStats::default();
        if let Some(jobs) = self.existing(queue, names.jobs(queue)?, INSPECT).await? {
            let counts = self.counts(&jobs).await?;
            stats.ready = counts.visible;
            stats.scheduled = counts.delayed;
            stats.running = counts.hidden;
        }
        if let Some(dead) = self.existing(queue, names.dead(queue)?, INSPECT).await? {
            let counts = self.counts(&dead).await?;
            stats.dead = counts.visible + counts.delayed + counts.hidden;
        }
        Ok(stats)
    }

    async fn counts(&self, queue: &SqsQueue) -> Result<Counts, Fault> {
        let wanted = [
            Attribute::ApproximateNumberOfMessages,
            Attribute::ApproximateNumberOfMessagesDelayed,
            Attribute::ApproximateNumberOfMessagesNotVisible,
        ];
        let call = self.client.get_queue_attributes().queue_url(&queue.url);
        let answer = call.set_attribute_names(Some(wanted.to_vec())).send().await;
        let answer =
            answer.map_err(|error| self.judge(queue, Fault::of(INSPECT, &error), INSPECT))?;
        let attributes = answer.attributes.unwrap_or_default();
        let [visible, delayed, hidden] = wanted.map(|name| {
            attributes
                .get(&name)
                .and_then(|text| text.parse().ok())
                .unwrap_or(0)
        });
        Ok(Counts {
            visible,
            delayed,
            hidden,
        })
    }

    /// How many messages of a queue could be received now.
    pub(crate) async fn visible(&self, queue: &SqsQueue) -> Result<u64, Fault> {
        Ok(self.counts(queue).await?.visible)
    }

    async fn purge(self: &Arc<Self>, queue: &QueueName) -> Result<u64> {
        let on_sqs = self.settings.names.jobs(queue)?;
        let Some(jobs) = self.existing(queue, on_sqs, INSPECT).await? else {
            return Ok(0);
        };
        let counts = self.counts(&jobs).await?;
        if counts.delayed > 0 {
            return Err(Error::Unsupported {
                driver: NAME,
                capability: "purging a queue with delayed jobs, since SQS hands them out to nobody: \
                             `PurgeQueue` of the service itself reaches them, and removes running \
                             jobs too",
            });
        }
        // No more than there were: what is pushed meanwhile must not keep it from ending.
        let mut removed = 0;
        let mut sweep = self.sweep(&jobs, counts.visible);
        while removed < counts.visible {
            let messages = sweep.next().await?;
            if messages.is_empty() {
                break;
            }
            let messages = messages
                .into_iter()
                .map(|message| message.held)
                .enumerate()
                .collect();
            for (_, answer) in self.delete_all(messages, INSPECT).await {
                answer?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}
