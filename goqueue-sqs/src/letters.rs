//! Dead letters as they are seen and steered. SQS has no listing: to see messages is to receive
//! them, so they are hidden from others while they are looked at, and shown again afterwards.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use aws_sdk_sqs::types::Message;
use goqueue_core::{
    Error, JobId, QueueName, Result,
    dead_letter::DeadReason,
    driver::{DeadLetterInfo, Page, PageRequest},
};
use tokio::{runtime::Handle, sync::oneshot};

use crate::{
    attributes::{ATTEMPTS, DIED_AT, ERROR, Marks, REASON},
    driver::{Inner, NAME},
    error::Fault,
    held::Held,
    incoming::Incoming,
    inspect::INSPECT,
    limits::MAX_BATCH,
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
    pub(crate) info: DeadLetterInfo,
}

impl Seen {
    pub(crate) fn message_id(&self) -> &str {
        &self.held.message_id
    }
}

/// Letters that others cannot see meanwhile. Shown again in the end, also by whoever gives up half-way.
pub(crate) struct Hidden {
    inner: Arc<Inner>,
    pub(crate) letters: Vec<Seen>,
}

impl Hidden {
    pub(crate) fn none(inner: &Arc<Inner>) -> Self {
        Self {
            inner: Arc::clone(inner),
            letters: Vec::new(),
        }
    }

    /// Goes on by itself when nobody waits for it any more.
    pub(crate) async fn show(mut self) {
        let (inner, letters) = (Arc::clone(&self.inner), self.take());
        let shown = self
            .inner
            .polls
            .spawn(async move { inner.show(letters).await });
        // What is not shown is there again when its time is over.
        let _ = shown.await;
    }

    pub(crate) fn take(&mut self) -> Vec<Seen> {
        std::mem::take(&mut self.letters)
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let letters = self.take();
        // Without a runtime they are there again when their time is over.
        if !letters.is_empty()
            && let Ok(runtime) = Handle::try_current()
        {
            let inner = Arc::clone(&self.inner);
            let show = async move { inner.show(letters).await };
            self.inner.polls.spawn_on(show, &runtime);
        }
    }
}

/// Goes through what a queue can hand out, ten at a time, each message once.
pub(crate) struct Sweep<'a> {
    inner: &'a Arc<Inner>,
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
        Ok(messages)
    }

    /// A receive that is given up is not broken off, since what it brings is hidden by then: it is
    /// shown again.
    async fn receive(&self, wait: Duration) -> Result<Vec<Seen>, Fault> {
        let (inner, queue) = (Arc::clone(self.inner), Arc::clone(self.queue));
        let (answer, received) = oneshot::channel();
        self.inner.polls.spawn(async move {
            let (most, lease) = (MAX_BATCH, HOLD);
            let messages = inner.receive(&queue, Ask { most, lease, wait }).await;
            let seen = messages.map(|messages| {
                let messages = messages.into_iter();
                let seen = messages.filter_map(|message| inner.seen(&queue, message));
                let mut hidden = Hidden::none(&inner);
                hidden.letters.extend(seen);
                hidden
            });
            if let Err(Ok(unseen)) = answer.send(seen) {
                unseen.show().await;
            }
        });
        let gone = |_| Fault::caused(INSPECT, &Error::Closed { driver: NAME });
        Ok(received.await.map_err(gone)??.take())
    }
}

impl Inner {
    pub(crate) fn sweep<'a>(
        self: &'a Arc<Self>,
        queue: &'a Arc<SqsQueue>,
        expected: u64,
    ) -> Sweep<'a> {
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

    pub(crate) async fn existing_dead(&self, queue: &QueueName) -> Result<Option<Arc<SqsQueue>>> {
        self.existing(queue, self.settings.names.dead(queue)?, INSPECT)
            .await
    }

    /// Holds the letters of a queue until `is_enough`, and shows them again when `look` is done.
    async fn look<T>(
        self: &Arc<Self>,
        dead: &Arc<SqsQueue>,
        is_enough: impl Fn(&Seen) -> bool,
        look: impl FnOnce(&[Seen]) -> T,
    ) -> Result<T> {
        let mut sweep = self.sweep(dead, self.visible(dead).await?);
        let (mut all, mut bytes) = (Hidden::none(self), 0);
        let failed = loop {
            match sweep.next().await {
                Ok(letters) if letters.is_empty() => break None,
                Ok(letters) => {
                    let has_enough = letters.iter().any(&is_enough);
                    bytes += letters
                        .iter()
                        .map(|letter| letter.info.body.len())
                        .sum::<usize>();
                    all.letters.extend(letters);
                    if has_enough || all.letters.len() >= LOOK || bytes >= LOOK_BYTES {
                        break None;
                    }
                }
                Err(fault) => break Some(fault),
            }
        };
        let seen = look(&all.letters);
        all.show().await;
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
        self: &Arc<Self>,
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
        self: &Arc<Self>,
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
}

fn cursor(text: &str) -> Result<JobId> {
    text.parse().map_err(|_| Error::Invalid {
        what: "page cursor",
        given: text.into(),
        allowed: "the `next` of the page before, as it was given",
    })
}
