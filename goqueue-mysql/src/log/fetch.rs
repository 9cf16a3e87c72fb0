//! Taking messages of a partition.
//!
//! First a look without a lock, which is all that an idle partition costs. When there is something,
//! a transaction of two round trips: what there is, under the lock of the group's row, then what was
//! taken. Neither what is acked nor what is invisible is ever read.

use goqueue_core::log::{
    Message,
    store::{Delivered, Fetch, FetchRequest, Receipt},
};

use super::{
    Inner,
    look::Look,
    sql::{self, Word, key},
};
use crate::{
    clock,
    connections::{Answer, Session},
    error::Fault,
    row,
    sql::{Message as Text, list},
};

impl Inner {
    pub(super) async fn fetch(&self, request: &FetchRequest) -> Result<Fetch, Fault> {
        self.shared.settled(|| self.fetch_once(request)).await
    }

    async fn fetch_once(&self, request: &FetchRequest) -> Result<Fetch, Fault> {
        let mut session = self.session().await?;
        let look = self.look(&mut session, request).await?;
        if !look.is_held {
            return Ok(Fetch::LeaseLost);
        }
        if !look.is_worth_a_fetch(request.is_serial) {
            return Ok(Fetch::Taken(Vec::new()));
        }
        let found = self.find(&mut session, request, &look).await?;
        let is_held = found.as_ref().is_none_or(|found| found.look.is_held);
        let worth = |found: &Found| found.look.is_worth_a_fetch(request.is_serial);
        let Some(found) = found.filter(|found| is_held && worth(found)) else {
            session.roll_back().await;
            return Ok(if is_held {
                Fetch::Taken(Vec::new())
            } else {
                Fetch::LeaseLost
            });
        };
        let plan = Plan::new(found, request);
        session.finish(self.take_text(request, &plan)).await?;
        Ok(Fetch::Taken(plan.messages))
    }

    /// The statements that say what there is, and where their answers begin.
    fn put_look(&self, text: &mut Text, request: &FetchRequest) -> usize {
        let (at, subscriber) = (&request.at, &request.subscriber);
        text.put(
            &self.sql.across.look,
            &[
                ("topic", &Word::from(&at.topic)),
                ("group", &Word::from(&at.group)),
                ("partition", &key(&at.partition)),
                ("subscriber", &Word::from(&subscriber.name)),
                ("instance", &subscriber.instance),
            ],
        )
    }

    async fn look(&self, session: &mut Session<'_>, request: &FetchRequest) -> Result<Look, Fault> {
        let mut text = Text::new();
        let place = self.put_look(&mut text, request);
        let answers = session.finish(text).await?;
        Look::read(&answers[place..], &request.at.group)
    }

    /// Locks the group's place in the partition and reads what there is to take. `None` when that is
    /// not what was seen: somebody has just reset the place, or settled.
    async fn find(
        &self,
        session: &mut Session<'_>,
        request: &FetchRequest,
        look: &Look,
    ) -> Result<Option<Found>, Fault> {
        let (text, [locked, looked, due, unread]) = self.find_text(request, look);
        let answers = session.open(text).await?;
        let own = answers[locked].rows.first();
        let own = own.ok_or_else(|| Fault::Unusable("the group has no place to lock".into()))?;
        let cursor = row::get::<u64>(own, "last_offset")?;
        let relooked = Look::read(&answers[looked..], &request.at.group)?;
        let is_behind = cursor.max(relooked.tail) < look.cursor;
        if is_behind || (request.is_serial && relooked.has_delivered() != look.has_delivered()) {
            return Ok(None);
        }
        let unread = &answers[unread];
        let (limit, end) = (limit(request), look.end());
        Ok(Some(Found {
            end: if unread.rows.len() < limit {
                Some(end)
            } else {
                None
            },
            due: due_messages(&answers[due])?,
            unread: unread
                .rows
                .iter()
                .map(sql::message)
                .collect::<Result<_, _>>()?,
            at: look.now,
            look: relooked,
        }))
    }

    /// The statements that lock and read, and where four of their answers are.
    fn find_text(&self, request: &FetchRequest, look: &Look) -> (Text, [usize; 4]) {
        let across = &self.sql.across;
        let at = &request.at;
        let (topic, group, partition) = (
            Word::from(&at.topic),
            Word::from(&at.group),
            key(&at.partition),
        );
        let place: [(&str, &dyn std::fmt::Display); 3] = [
            ("topic", &topic),
            ("group", &group),
            ("partition", &partition),
        ];
        let limit = limit(request);
        let is_blocked = request.is_serial && look.has_delivered();
        let end = look.end();
        let mut text = Text::new();
        text.put(&across.begin, &[]);
        if look.is_new {
            text.put(
                &across.make_place,
                &[
                    place[0],
                    place[1],
                    place[2],
                    ("cursor", &look.cursor),
                    ("watermark", &look.watermark),
                ],
            );
        }
        let locked = text.put(&across.lock_place, &place);
        let looked = self.put_look(&mut text, request);
        let due = text.put(
            &across.due,
            &[
                place[0],
                place[1],
                place[2],
                ("at", &look.now),
                ("limit", &limit),
                // Where one message must not overtake another, those that were delivered go first.
                ("limit_new", &if is_blocked { 0 } else { limit }),
            ],
        );
        let unread = text.put(
            &across.unread,
            &[
                place[0],
                place[2],
                ("cursor", &look.cursor),
                ("end", &end),
                ("at", &look.now),
                ("limit", &limit),
            ],
        );
        (text, [locked, looked, due, unread])
    }

    /// The statements that write down what was taken.
    fn take_text(&self, request: &FetchRequest, plan: &Plan) -> Text {
        let across = &self.sql.across;
        let (at, Receipt(receipt)) = (&request.at, request.receipt);
        let (topic, group, partition) = (
            Word::from(&at.topic),
            Word::from(&at.group),
            key(&at.partition),
        );
        let place: [(&str, &dyn std::fmt::Display); 3] = [
            ("topic", &topic),
            ("group", &group),
            ("partition", &partition),
        ];
        let visibility = clock::delay(request.visibility);
        let mut text = Text::new();
        if plan.cursor > plan.old_cursor {
            text.put(
                &across.open,
                &[
                    place[0],
                    place[1],
                    place[2],
                    ("cursor", &plan.old_cursor),
                    ("end", &plan.cursor),
                    ("at", &plan.at),
                    ("receipt", &receipt),
                    ("visibility", &visibility),
                ],
            );
        }
        if !plan.again.is_empty() {
            let offsets = list(plan.again.iter().copied());
            text.put(
                &across.take,
                &[
                    place[0],
                    place[1],
                    place[2],
                    ("offsets", &offsets),
                    ("receipt", &receipt),
                    ("visibility", &visibility),
                ],
            );
        }
        if !plan.gone.is_empty() {
            let offsets = list(plan.gone.iter().copied());
            text.put(
                &across.forget,
                &[place[0], place[1], place[2], ("offsets", &offsets)],
            );
        }
        text.put(
            &across.move_cursor,
            &[place[0], place[1], place[2], ("cursor", &plan.cursor)],
        );
        text.put(&across.commit, &[]);
        text
    }
}

/// The most messages that a fetch may take.
fn limit(request: &FetchRequest) -> usize {
    if request.is_serial { 1 } else { request.max }
}

/// What there is to take, under the lock.
struct Found {
    /// As of the lock.
    look: Look,
    /// When it was decided what is visible: before everything was read.
    at: u64,
    /// Open messages that are visible, by offset.
    due: Vec<Due>,
    /// Messages behind the cursor that are visible, by offset.
    unread: Vec<Message>,
    /// Up to where they were read, unless that is the last of them.
    end: Option<u64>,
}

struct Due {
    offset: u64,
    attempt: u32,
    /// What was published, unless it is gone.
    message: Option<Message>,
}

fn due_messages(answer: &Answer) -> Result<Vec<Due>, Fault> {
    let due = |row| {
        let is_there = row::get::<Option<&[u8]>>(row, "partition_key")?.is_some();
        Ok(Due {
            offset: row::get(row, "offset")?,
            attempt: row::get(row, "attempt")?,
            message: is_there.then(|| sql::message(row)).transpose()?,
        })
    };
    answer.rows.iter().map(due).collect()
}

/// What is taken, and what else that changes.
struct Plan {
    messages: Vec<Delivered>,
    /// Offsets of open messages that are delivered again.
    again: Vec<u64>,
    /// Offsets of open messages that are gone.
    gone: Vec<u64>,
    old_cursor: u64,
    cursor: u64,
    at: u64,
}

impl Plan {
    fn new(found: Found, request: &FetchRequest) -> Self {
        let look = found.look;
        let mut plan = Self {
            messages: Vec::new(),
            again: Vec::new(),
            gone: Vec::new(),
            old_cursor: look.cursor,
            cursor: look.cursor,
            at: found.at,
        };
        let max = limit(request);
        for due in found.due {
            match due.message {
                None => plan.gone.push(due.offset),
                Some(message) => {
                    plan.again.push(due.offset);
                    plan.deliver(message, due.attempt + 1);
                }
            }
        }
        if request.is_serial && look.has_delivered() {
            return plan;
        }
        let mut is_whole = true;
        for message in found.unread {
            if message.offset <= plan.cursor {
                continue;
            }
            if plan.messages.len() >= max {
                is_whole = false;
                break;
            }
            plan.cursor = message.offset;
            plan.deliver(message, 1);
        }
        if let Some(end) = found.end.filter(|_| is_whole) {
            plan.cursor = plan.cursor.max(end);
        }
        plan
    }

    fn deliver(&mut self, message: Message, attempt: u32) {
        self.messages.push(Delivered { message, attempt });
    }
}
