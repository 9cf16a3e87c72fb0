use std::time::Duration;

use async_trait::async_trait;
use goqueue_core::{
    Result,
    log::{
        GroupName, PartitionKey, Published, TopicName,
        store::{
            CollectRequest, Collected, Delivered, Fetch, FetchRequest, GroupPartition,
            LogTransactions, PublishRequest, Settled, Settlement, Verdict,
        },
    },
};

use super::Quirky;
use crate::log::mutants::Quirk;

impl Quirky {
    async fn settle_quietly(
        &self,
        request: &FetchRequest,
        taken: &[Delivered],
        verdict: &Verdict,
    ) -> Result<()> {
        let settlements: Vec<_> = taken
            .iter()
            .map(|delivered| Settlement {
                partition: request.at.partition.clone(),
                offset: delivered.message.offset,
                receipt: request.receipt,
                verdict: verdict.clone(),
            })
            .collect();
        let GroupPartition { topic, group, .. } = &request.at;
        self.inner
            .transactions()
            .settle(topic, group, &settlements)
            .await?;
        Ok(())
    }

    /// Takes only what lies within a batch behind the watermark, as a query with a limit does that
    /// filters afterwards.
    async fn within_window(
        &self,
        request: &FetchRequest,
        watermark: u64,
        taken: Vec<Delivered>,
    ) -> Result<Vec<Delivered>> {
        let last = watermark + request.max as u64;
        let (seen, unseen): (Vec<_>, Vec<_>) =
            taken.into_iter().partition(|d| d.message.offset <= last);
        self.settle_quietly(request, &unseen, &Verdict::Release)
            .await?;
        Ok(seen)
    }

    /// A reader goes past what is not committed.
    async fn past_hidden(
        &self,
        request: &FetchRequest,
        taken: Vec<Delivered>,
    ) -> Result<Vec<Delivered>> {
        let hidden = self.memory().hidden.clone();
        let (gone, seen): (Vec<_>, Vec<_>) = taken
            .into_iter()
            .partition(|d| hidden.contains(&(request.at.partition.clone(), d.message.offset)));
        self.settle_quietly(request, &gone, &Verdict::Ack).await?;
        Ok(seen)
    }

    async fn fetch_with(&self, request: &FetchRequest) -> Result<Fetch> {
        let mut request = request.clone();
        match self.quirk {
            Quirk::FetchesOneByOne => request.max = 1,
            Quirk::FetchesWithoutRoom => request.max *= 5,
            Quirk::IgnoresSerial => request.is_serial = false,
            Quirk::ForgetsVisibility => request.visibility = Duration::ZERO,
            _ => {}
        }
        let GroupPartition { topic, group, .. } = &request.at;
        let offsets = self.inner.offsets().partitions(topic, group).await?;
        let standing = offsets
            .into_iter()
            .find(|o| o.partition == request.at.partition);
        let fetched = self.inner.transactions().fetch(&request).await?;
        let Fetch::Taken(mut taken) = fetched else {
            return Ok(fetched);
        };
        match self.quirk {
            Quirk::FiltersAfterTheLimit => {
                let watermark = standing.map(|o| o.watermark).unwrap_or_default();
                taken = self.within_window(&request, watermark, taken).await?;
            }
            Quirk::NumbersBeforeTheCommit => taken = self.past_hidden(&request, taken).await?,
            Quirk::ReversesBatches => taken.reverse(),
            Quirk::ForgetsAttempts => taken.iter_mut().for_each(|d| d.attempt = 1),
            Quirk::LosesAMessage => taken.truncate(taken.len() - usize::from(taken.len() > 2)),
            _ => {}
        }
        let mut memory = self.memory();
        for delivered in &taken {
            let key = (request.at.clone(), delivered.message.offset);
            memory.receipts.insert(key, request.receipt);
        }
        drop(memory);
        Ok(Fetch::Taken(taken))
    }

    fn spoiled(&self, topic: &TopicName, group: &GroupName, item: &Settlement) -> Settlement {
        let mut item = item.clone();
        match (self.quirk, &mut item.verdict) {
            (Quirk::SettlesByOffset, _) => {
                let at = GroupPartition {
                    topic: topic.clone(),
                    group: group.clone(),
                    partition: item.partition.clone(),
                };
                if let Some(receipt) = self.memory().receipts.get(&(at, item.offset)) {
                    item.receipt = *receipt;
                }
            }
            (Quirk::NacksAtOnce, Verdict::Retry { delay, .. }) => *delay = Duration::ZERO,
            (Quirk::PostponesAsNack, Verdict::Postpone { delay }) => {
                let (delay, error) = (*delay, None);
                item.verdict = Verdict::Retry { delay, error };
            }
            (Quirk::ForgetsTheReason, Verdict::Dead(dead)) => dead.error.clear(),
            _ => {}
        }
        item
    }
}

#[async_trait]
impl LogTransactions for Quirky {
    async fn publish(&self, request: &PublishRequest) -> Result<Vec<Published>> {
        let mut published = self.inner.transactions().publish(request).await?;
        if self.quirk == Quirk::CallsDuplicatesStored {
            for one in &mut published {
                *one = Published::Stored {
                    offset: one.offset(),
                };
            }
        }
        Ok(published)
    }

    async fn fetch(&self, request: &FetchRequest) -> Result<Fetch> {
        self.register_late(&request.at.topic, &request.at.group)
            .await?;
        self.fetch_with(request).await
    }

    async fn settle(
        &self,
        topic: &TopicName,
        group: &GroupName,
        settlements: &[Settlement],
    ) -> Result<Vec<Settled>> {
        let spoiled = settlements
            .iter()
            .map(|item| self.spoiled(topic, group, item));
        let spoiled: Vec<_> = spoiled.collect();
        let transactions = self.inner.transactions();
        let settled = transactions.settle(topic, group, &spoiled).await?;
        if self.quirk == Quirk::MovesDeadLetters {
            for item in settlements {
                if matches!(item.verdict, Verdict::Dead(_)) {
                    transactions
                        .delete(topic, &item.partition, item.offset)
                        .await?;
                }
            }
        }
        Ok(settled)
    }

    async fn collect(&self, request: &CollectRequest) -> Result<Collected> {
        let mut request = request.clone();
        match self.quirk {
            Quirk::KeepsForEver => request.retention = None,
            Quirk::CollectsNothing => return Ok(Collected::default()),
            _ => {}
        }
        self.inner.transactions().collect(&request).await
    }

    async fn delete(&self, topic: &TopicName, at: &PartitionKey, offset: u64) -> Result<bool> {
        self.inner.transactions().delete(topic, at, offset).await
    }

    async fn purge(&self, topic: &TopicName) -> Result<u64> {
        self.inner.transactions().purge(topic).await
    }

    async fn requeue(
        &self,
        letters: &TopicName,
        partition: &PartitionKey,
        offsets: &[u64],
    ) -> Result<u64> {
        self.inner
            .transactions()
            .requeue(letters, partition, offsets)
            .await
    }

    async fn reset(&self, at: &GroupPartition, to: u64) -> Result<Option<u64>> {
        let to = if self.quirk == Quirk::ResetsToZero {
            0
        } else {
            to
        };
        self.inner.transactions().reset(at, to).await
    }
}
