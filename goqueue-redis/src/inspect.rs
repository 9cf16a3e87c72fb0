use std::time::Duration;

use async_trait::async_trait;
use goqueue_core::{
    JobId, QueueName, Result,
    driver::{
        DeadLetterInfo, Inspect, JobInfo, JobState, Page, PageRequest, QueueStats, Selection,
    },
};

use crate::{
    RedisDriver,
    driver::{BATCH, Inner},
    error::Operation,
    letter,
    page::{PAGE, TimeCursor, cursor, limit_of},
    record::{Record, array, id_from},
    reply::{List, Reply},
    scripts::{
        Args, DEAD_DELETE, DEAD_LIST, DEAD_REQUEUE, PEEK_BY_TIME, PEEK_READY, PURGE, STATS, Verb,
    },
};

/// The most passes of upkeep before a look, so that a huge backlog does not keep it for long.
const PASSES: usize = 64;

#[async_trait]
impl Inspect for RedisDriver {
    async fn queues(&self) -> Result<Vec<QueueName>> {
        let _pass = self.0.gate.enter()?;
        self.0.registry.all(&self.0.connection).await
    }

    async fn stats(&self, queue: &QueueName) -> Result<QueueStats> {
        let _pass = self.0.gate.enter()?;
        self.0.stats(queue).await
    }

    async fn peek(
        &self,
        queue: &QueueName,
        state: JobState,
        page: PageRequest,
    ) -> Result<Page<JobInfo>> {
        let _pass = self.0.gate.enter()?;
        self.0.catch_up(queue).await?;
        match state {
            JobState::Ready => self.0.peek_ready(queue, &page).await,
            JobState::Scheduled | JobState::Running => {
                self.0.peek_by_time(queue, state, &page).await
            }
        }
    }

    async fn dead_letters(
        &self,
        queue: &QueueName,
        page: PageRequest,
    ) -> Result<Page<DeadLetterInfo>> {
        let _pass = self.0.gate.enter()?;
        let limit = limit_of(&page)?;
        let after = page.after.as_deref().map(cursor::<JobId>).transpose()?;
        let (letters, has_more) = self.0.dead_page(queue, after, limit).await?;
        let next = letters
            .last()
            .filter(|_| has_more)
            .map(|(id, _)| id.to_string());
        let info = |(id, letter)| letter::decode(queue, id, letter);
        Ok(Page {
            items: letters.into_iter().map(info).collect(),
            next,
        })
    }

    async fn dead_letter(&self, queue: &QueueName, id: JobId) -> Result<Option<DeadLetterInfo>> {
        let _pass = self.0.gate.enter()?;
        let mut cmd = redis::Cmd::new();
        cmd.arg("HGET")
            .arg(&self.0.keys.of(queue).dead)
            .arg(id.as_uuid().as_bytes());
        let value = self.0.connection.send(Operation::Inspect, &cmd).await?;
        Ok(match value {
            redis::Value::BulkString(bytes) => Some(letter::decode(queue, id, bytes.into())),
            _ => None,
        })
    }

    async fn requeue_dead(&self, queue: &QueueName, which: Selection) -> Result<u64> {
        let keys = self.0.keys.of(queue);
        let [dead, dead_order, dead_age] = keys.dead();
        let used = [
            dead,
            dead_order,
            dead_age,
            &keys.ready,
            &keys.scheduled,
            &keys.waiting,
            &keys.lanes,
            &keys.parked,
            &keys.parked_due,
            &keys.unique,
            &keys.holds,
        ];
        self.0
            .steer(queue, which, &DEAD_REQUEUE, &used, Some(&keys.channel))
            .await
    }

    async fn delete_dead(&self, queue: &QueueName, which: Selection) -> Result<u64> {
        let keys = self.0.keys.of(queue);
        self.0
            .steer(queue, which, &DEAD_DELETE, &keys.dead(), None)
            .await
    }

    async fn purge(&self, queue: &QueueName) -> Result<u64> {
        let _pass = self.0.gate.enter()?;
        self.0.purge(queue).await
    }
}

impl Inner {
    async fn ask(&self, verb: &Verb, keys: &[&str], args: &Args<'_>) -> Result<Reply> {
        Ok(Reply::of(
            self.connection.run(verb, keys, args).await?,
            verb.operation,
        ))
    }

    /// Moves what is due and what has expired, so that each job is found in its state.
    async fn catch_up(&self, queue: &QueueName) -> Result<()> {
        for _ in 0..PASSES {
            let (.., has_more) = self.pass(queue).await?;
            if !has_more {
                break;
            }
        }
        Ok(())
    }

    async fn stats(&self, queue: &QueueName) -> Result<QueueStats> {
        let keys = self.keys.of(queue);
        let used = [
            keys.ready.as_str(),
            &keys.scheduled,
            &keys.leases,
            &keys.parked,
            &keys.parked_due,
            &keys.dead_order,
        ];
        let mut list = self.ask(&STATS, &used, &Args::default()).await?.list()?;
        Ok(QueueStats {
            ready: list.count()?,
            scheduled: list.count()?,
            running: list.count()?,
            dead: list.count()?,
            oldest_ready: u64::try_from(list.number()?)
                .ok()
                .map(Duration::from_millis),
        })
    }

    async fn peek_ready(&self, queue: &QueueName, page: &PageRequest) -> Result<Page<JobInfo>> {
        let limit = limit_of(page)?;
        let from = page.after.as_deref().map_or(Ok(0), cursor::<u64>)?;
        let keys = self.keys.of(queue);
        let mut args = Args::with_capacity(3);
        args.number(from)
            .number(limit as u64)
            .number(BATCH.bytes as u64);
        let used = [keys.ready.as_str(), &keys.parked];
        let mut list = self.ask(&PEEK_READY, &used, &args).await?.list()?;
        let next = u64::try_from(list.number()?)
            .ok()
            .map(|next| next.to_string());
        let mut records = list.list()?;
        let mut items = Vec::with_capacity(records.len());
        while !records.is_empty() {
            items.push(job_info(records.bytes()?, JobState::Ready, Duration::ZERO));
        }
        Ok(Page { items, next })
    }

    async fn peek_by_time(
        &self,
        queue: &QueueName,
        state: JobState,
        page: &PageRequest,
    ) -> Result<Page<JobInfo>> {
        let limit = limit_of(page)?;
        let mut at = page
            .after
            .as_deref()
            .map(cursor::<TimeCursor>)
            .transpose()?;
        let keys = self.keys.of(queue);
        let (kind, used) = if state == JobState::Running {
            ("running", [&keys.leases, &keys.running])
        } else {
            ("scheduled", [&keys.scheduled, &keys.parked_due])
        };
        let mut args = Args::with_capacity(6);
        args.bytes(kind);
        match at {
            Some(at) => args
                .number(at.time)
                .number(at.passed[0])
                .number(at.passed[1]),
            None => args.bytes("").number(0).number(0),
        };
        // One more than wanted tells whether there is another page.
        args.number(limit as u64 + 1).number(BATCH.bytes as u64);
        let used = used.map(String::as_str);
        let mut list = self.ask(&PEEK_BY_TIME, &used, &args).await?.list()?;
        let now = list.count()?;
        let is_cut = list.len() / 3 <= limit && !list.is_empty();
        let mut items = Vec::new();
        while !list.is_empty() && items.len() < limit {
            let (time, set, record) = entry(&mut list)?;
            let due_in = Duration::from_millis(time.saturating_sub(now));
            items.push(job_info(record, state, due_in));
            at = Some(TimeCursor::after(at, time, set));
        }
        // A page that its bytes cut short may have a next one, too; an empty one then ends the list.
        let has_more = !list.is_empty() || (is_cut && bytes_of(&items) >= BATCH.bytes);
        Ok(Page {
            items,
            next: at.filter(|_| has_more).map(|at| at.to_string()),
        })
    }

    /// Dead letters that come after `after`, and whether there are more.
    async fn dead_page(
        &self,
        queue: &QueueName,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<(Vec<(JobId, bytes::Bytes)>, bool)> {
        let keys = self.keys.of(queue);
        let after = after.map(|id| id.as_uuid());
        let mut args = Args::with_capacity(3);
        match &after {
            Some(id) => args.bytes(id.as_bytes()),
            None => args.bytes(""),
        };
        args.number(limit as u64).number(BATCH.bytes as u64);
        let used = [keys.dead.as_str(), &keys.dead_order];
        let mut list = self.ask(&DEAD_LIST, &used, &args).await?.list()?;
        let has_more = list.number()? > 0;
        let mut letters = Vec::with_capacity(list.len() / 2);
        while !list.is_empty() {
            let id = id_of(&list.bytes()?);
            letters.push((id, list.bytes()?));
        }
        Ok((letters, has_more))
    }

    /// Does to dead letters what the script does, a bounded number per call. Letters that come
    /// meanwhile may be left out.
    async fn steer(
        &self,
        queue: &QueueName,
        which: Selection,
        verb: &Verb,
        keys: &[&str],
        channel: Option<&str>,
    ) -> Result<u64> {
        let _pass = self.gate.enter()?;
        let act = async |ids: &[JobId]| -> Result<u64> {
            let mut args = Args::with_capacity(1 + ids.len());
            if let Some(channel) = channel {
                args.bytes(channel);
            }
            for id in ids {
                args.owned(id.as_uuid().as_bytes().to_vec());
            }
            let moved = self.ask(verb, keys, &args).await?.number()?;
            Ok(u64::try_from(moved).unwrap_or_default())
        };
        let mut count = 0;
        match which {
            Selection::Ids(ids) => {
                for ids in ids.chunks(PAGE) {
                    count += act(ids).await?;
                }
            }
            Selection::All => {
                let mut after = None;
                loop {
                    let ids = self.dead_ids(queue, after).await?;
                    let Some(last) = ids.last().copied() else {
                        break;
                    };
                    after = Some(last);
                    count += act(&ids).await?;
                }
            }
        }
        Ok(count)
    }

    async fn dead_ids(&self, queue: &QueueName, after: Option<JobId>) -> Result<Vec<JobId>> {
        let mut from = b"-".to_vec();
        if let Some(id) = after {
            from = b"(".to_vec();
            from.extend_from_slice(id.as_uuid().as_bytes());
        }
        let mut cmd = redis::Cmd::new();
        cmd.arg("ZRANGEBYLEX")
            .arg(&self.keys.of(queue).dead_order)
            .arg(from)
            .arg("+");
        cmd.arg("LIMIT").arg(0).arg(PAGE);
        let operation = Operation::Inspect;
        let mut list = Reply::of(self.connection.send(operation, &cmd).await?, operation).list()?;
        let mut ids = Vec::with_capacity(list.len());
        while !list.is_empty() {
            ids.push(id_of(&list.bytes()?));
        }
        Ok(ids)
    }

    async fn purge(&self, queue: &QueueName) -> Result<u64> {
        self.catch_up(queue).await?;
        let keys = self.keys.of(queue);
        let used = [
            keys.ready.as_str(),
            &keys.scheduled,
            &keys.lanes,
            &keys.parked,
            &keys.parked_due,
            &keys.unique,
            &keys.holds,
        ];
        // No more than there were: what is pushed meanwhile must not keep it from ending.
        let stats = self.stats(queue).await?;
        let most = stats.ready + stats.scheduled;
        let mut removed = 0;
        while removed < most {
            let mut args = Args::with_capacity(2);
            args.number((most - removed).min(PAGE as u64))
                .number(BATCH.bytes as u64);
            let count = self.ask(&PURGE, &used, &args).await?.number()?;
            if count <= 0 {
                break;
            }
            removed += u64::try_from(count).unwrap_or_default();
        }
        Ok(removed)
    }
}

fn entry(list: &mut List) -> Result<(u64, usize, bytes::Bytes)> {
    let time = list.count()?;
    let set = usize::from(list.count()? == 2);
    Ok((time, set, list.bytes()?))
}

fn job_info(record: bytes::Bytes, state: JobState, due_in: Duration) -> JobInfo {
    let job = Record::read(&record).unwrap_or_else(|| Record::foreign(record));
    let running = u32::from(state == JobState::Running);
    JobInfo {
        id: job.id,
        state,
        attempts: job.attempts.saturating_add(running),
        due_in,
        last_error: job.last_error,
        body: job.body,
    }
}

fn bytes_of(items: &[JobInfo]) -> usize {
    items.iter().map(|job| job.body.len()).sum()
}

fn id_of(bytes: &[u8]) -> JobId {
    id_from(array(bytes, 0).unwrap_or_default())
}
