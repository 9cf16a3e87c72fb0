//! Dead letters as they are seen and steered. SQS has no listing: to see messages is to receive
//! them, so they are hidden from others while they are looked at, and shown again afterwards.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use aws_sdk_sqs::types::Message;
use goqueue_core::{
    Error, JobId, QueueName, Result,
    dead_letter::DeadReason,
    driver::{DeadLetterInfo, Page, PageRequest, Selection},
};

use crate::{
    attributes::{ATTEMPTS, DEDUP, DIED_AT, ERROR, Marks, REASON, job_message, text},
    batch::Entry,
    driver::Inner,
    error::Fault,
    held::Held,
    incoming::Incoming,
    inspect::INSPECT,
    keys,
    limits::{MAX_BATCH, size},
    push::outgoing,
    queues::SqsQueue,
    reserve::Ask,
};

/// How long letters are hidden while they are looked at. After a crash they are there again then.
const HOLD: Duration = Duration::from_secs(60);
/// The most letters, and bytes of their bodies, that one look holds. What lies beyond is found when
/// those before it are requeued or deleted.
const LOOK: usize = 10_000;
const LOOK_BYTES: usize = 64 * 1024 * 1024;

/// A message in the hands of one who looks.
pub(crate) struct Seen {
    pub(crate) held: Arc<Held>,
    info: DeadLetterInfo,
}

/// Goes through what a queue can hand out, ten at a time, each message once.
pub(crate) struct Sweep<'a> {
    inner: &'a Inner,
    queue: &'a Arc<SqsQueue>,
    expected: u64,
    seen: u64,
}

impl Sweep<'_> {
    /// The next messages; none when there are no more.
    pub(crate) async fn next(&mut self) -> Result<Vec<Seen>, Fault> {
        let mut messages = self.receive(Duration::ZERO).await?;
        // A receive that does not wait asks only some of the service's machines.
        if messages.is_empty() && self.seen < self.expected {
            messages = self.receive(Duration::from_secs(1)).await?;
        }
        self.seen += messages.len() as u64;
        let queue = self.queue;
        let seen = messages
            .into_iter()
            .filter_map(|message| self.inner.seen(queue, message));
        Ok(seen.collect())
    }

    async fn receive(&self, wait: Duration) -> Result<Vec<Message>, Fault> {
        let (most, lease) = (MAX_BATCH, HOLD);
        self.inner
            .receive(self.queue, Ask { most, lease, wait })
            .await
    }
}

impl Inner {
    pub(crate) fn sweep<'a>(&'a self, queue: &'a Arc<SqsQueue>, expected: u64) -> Sweep<'a> {
        Sweep {
            inner: self,
            queue,
            expected,
            seen: 0,
        }
    }

    fn seen(&self, queue: &Arc<SqsQueue>, message: Message) -> Option<Seen> {
        let marks = Marks::read(message.message_attributes.clone());
        let longest = self.settings.table.max_visibility;
        let start = Incoming::read(queue, message, &self.clock, longest)?.start;
        let reason = marks.text(REASON).and_then(|reason| reason.parse().ok());
        let stranger = "what is stored is no dead letter of goqueue";
        let info = DeadLetterInfo {
            id: start.id,
            queue: queue.name.clone(),
            reason: reason.unwrap_or(DeadReason::Undecodable),
            error: marks
                .text(ERROR)
                .unwrap_or(if reason.is_none() { stranger } else { "" })
                .to_owned(),
            attempts: marks.number(ATTEMPTS).unwrap_or(0),
            died_at: marks.number(DIED_AT).unwrap_or(start.sent),
            body: start.body.clone(),
        };
        Some(Seen {
            held: Arc::new(Held::new(start, HOLD)),
            info,
        })
    }

    async fn existing_dead(&self, queue: &QueueName) -> Result<Option<Arc<SqsQueue>>> {
        self.existing(queue, self.settings.names.dead(queue)?, INSPECT)
            .await
    }

    /// Holds the letters of a queue until `is_enough`, and shows them again when `look` is done.
    async fn look<T>(
        &self,
        dead: &Arc<SqsQueue>,
        is_enough: impl Fn(&Seen) -> bool,
        look: impl FnOnce(&[Seen]) -> T,
    ) -> Result<T> {
        let mut sweep = self.sweep(dead, self.visible(dead).await?);
        let (mut all, mut bytes) = (Vec::new(), 0);
        let failed = loop {
            match sweep.next().await {
                Ok(letters) if letters.is_empty() => break None,
                Ok(letters) => {
                    let has_enough = letters.iter().any(&is_enough);
                    bytes += letters
                        .iter()
                        .map(|letter| letter.info.body.len())
                        .sum::<usize>();
                    all.extend(letters);
                    if has_enough || all.len() >= LOOK || bytes >= LOOK_BYTES {
                        break None;
                    }
                }
                Err(fault) => break Some(fault),
            }
        };
        let seen = look(&all);
        self.show(all).await;
        match failed {
            Some(fault) => Err(fault.into()),
            None => Ok(seen),
        }
    }

    /// Shows letters again. Those that cannot be are there again when their time is over.
    async fn show(&self, letters: Vec<Seen>) {
        let shown = letters.into_iter().enumerate();
        let shown = shown
            .map(|(place, letter)| (place, letter.held, Duration::ZERO))
            .collect();
        for (_, answer) in self.hide_all(shown, INSPECT).await {
            if let Err(fault) = answer {
                tracing::debug!(error = %Error::from(fault), "a dead letter stays hidden for a while");
            }
        }
    }

    pub(crate) async fn dead_page(
        &self,
        queue: &QueueName,
        page: &PageRequest,
    ) -> Result<Page<DeadLetterInfo>> {
        if page.limit == 0 {
            return Err(Error::InvalidSetting {
                setting: "limit",
                given: "0".into(),
                allowed: "1 or more",
            });
        }
        let after = page.after.as_deref().map(cursor).transpose()?;
        let mut letters = BTreeMap::new();
        if let Some(dead) = self.existing_dead(queue).await? {
            letters = self
                .look(
                    &dead,
                    |_| false,
                    |all| {
                        let infos = all
                            .iter()
                            .map(|letter| (letter.info.id, letter.info.clone()));
                        infos
                            .filter(|(id, _)| after.is_none_or(|after| *id > after))
                            .collect()
                    },
                )
                .await?;
        }
        let has_more = letters.len() > page.limit;
        let items: Vec<_> = letters.into_values().take(page.limit).collect();
        let next = items
            .last()
            .filter(|_| has_more)
            .map(|last| last.id.to_string());
        Ok(Page { items, next })
    }

    pub(crate) async fn dead_letter(
        &self,
        queue: &QueueName,
        id: JobId,
    ) -> Result<Option<DeadLetterInfo>> {
        let Some(dead) = self.existing_dead(queue).await? else {
            return Ok(None);
        };
        let is_it = |letter: &Seen| letter.info.id == id;
        let find = |all: &[Seen]| {
            let found = all.iter().find(|letter| is_it(letter));
            found.map(|letter| letter.info.clone())
        };
        self.look(&dead, is_it, find).await
    }

    pub(crate) async fn requeue_dead(&self, queue: &QueueName, which: &Selection) -> Result<u64> {
        let Some(dead) = self.existing_dead(queue).await? else {
            return Ok(0);
        };
        let jobs = self.jobs_of(queue, INSPECT).await?;
        self.steer(&dead, which, Some(&jobs)).await
    }

    pub(crate) async fn delete_dead(&self, queue: &QueueName, which: &Selection) -> Result<u64> {
        match self.existing_dead(queue).await? {
            Some(dead) => self.steer(&dead, which, None).await,
            None => Ok(0),
        }
    }

    async fn requeue(&self, jobs: &Arc<SqsQueue>, letters: Vec<Arc<Held>>) -> Result<()> {
        let mut messages = Vec::with_capacity(letters.len());
        for (place, letter) in letters.into_iter().enumerate() {
            let message = self.again(jobs, &letter, place)?;
            messages.push((letter, message));
        }
        for (_, answer) in self.move_to(jobs, messages, INSPECT).await {
            answer?;
        }
        Ok(())
    }

    async fn remove(&self, letters: Vec<Arc<Held>>) -> Result<()> {
        let letters = letters.into_iter().enumerate().collect();
        for (_, answer) in self.delete_all(letters, INSPECT).await {
            answer?;
        }
        Ok(())
    }

    /// Makes letters jobs of a queue, or deletes them where there is none, ten at a time. A second
    /// letter of a job, which a lost answer can leave behind, is deleted with the first.
    async fn steer(
        &self,
        dead: &Arc<SqsQueue>,
        which: &Selection,
        jobs: Option<&Arc<SqsQueue>>,
    ) -> Result<u64> {
        let wanted: Option<HashSet<JobId>> = match which {
            Selection::All => None,
            Selection::Ids(ids) => Some(ids.iter().copied().collect()),
        };
        let expected = self.visible(dead).await?;
        let mut sweep = self.sweep(dead, expected);
        let (mut done, mut others) = (HashSet::new(), Vec::new());
        let answer = loop {
            let letters = match sweep.next().await {
                Ok(letters) if letters.is_empty() => break Ok(()),
                Ok(letters) => letters,
                Err(fault) => break Err(fault.into()),
            };
            let (mut chosen, mut twins) = (Vec::new(), Vec::new());
            for letter in letters {
                match &wanted {
                    Some(wanted) if !wanted.contains(&letter.info.id) => others.push(letter),
                    _ if done.insert(letter.info.id) => chosen.push(letter.held),
                    _ => twins.push(letter.held),
                }
            }
            let acted = async {
                match jobs {
                    Some(jobs) => self.requeue(jobs, chosen).await?,
                    None => self.remove(chosen).await?,
                }
                self.remove(twins).await
            };
            if let Err(error) = acted.await {
                break Err(error);
            }
        };
        self.show(others).await;
        answer.map(|()| done.len() as u64)
    }

    /// The message that makes a letter a job again, with no attempt spent.
    fn again(
        &self,
        jobs: &SqsQueue,
        letter: &Held,
        place: usize,
    ) -> Result<Entry<crate::push::Outgoing>> {
        let dedup = letter.dedup.as_deref().and_then(|dedup| text(DEDUP, dedup));
        let limit = jobs.max_message;
        let (body, attributes) =
            job_message(letter.id, &letter.body, [dedup], &letter.foreign, limit)?;
        let size = size(&body, &attributes);
        let mut what = outgoing(body, attributes);
        if self.settings.names.is_fifo {
            what.message_group_id = letter.group.clone();
            what.message_deduplication_id = Some(keys::copy_of(letter.id, &letter.message_id));
        }
        Ok(Entry { place, size, what })
    }
}

fn cursor(text: &str) -> Result<JobId> {
    text.parse().map_err(|_| Error::Invalid {
        what: "page cursor",
        given: text.into(),
        allowed: "the `next` of the page before, as it was given",
    })
}
