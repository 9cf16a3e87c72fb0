//! Removing what every group has acked, and what retention gives up.
//!
//! Whoever collects a topic holds its gate, which also keeps groups from becoming known and from
//! being reset meanwhile; somebody who finds it held has nothing to do. Partitions that an open
//! transaction publishes to are left for the next time.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Write,
    time::Duration,
};

use goqueue_core::log::{
    GroupName, PartitionKey, TopicName,
    store::{CollectRequest, Collected, Expired},
};

use super::{
    Inner,
    sql::{self, Word, key, keys},
};
use crate::{
    clock,
    connections::Session,
    error::Fault,
    row,
    sql::{Message as Text, joined},
};

/// The most partitions of one collection.
const MOST_PARTITIONS: usize = 1_000;

impl Inner {
    pub(super) async fn collect(&self, request: &CollectRequest) -> Result<Collected, Fault> {
        self.shared
            .settled(|| async {
                let mut session = self.session().await?;
                if !self.enter(&mut session, &request.topic).await? {
                    return Ok(Collected::default());
                }
                match self.collect_inside(&mut session, request).await {
                    Ok(collected) => Ok(collected),
                    Err(fault) => Err(session.failed(fault).await),
                }
            })
            .await
    }

    /// Opens a transaction that holds the topic's gate. Answers `false`, with no transaction open,
    /// when somebody else has it.
    async fn enter(&self, session: &mut Session<'_>, topic: &TopicName) -> Result<bool, Fault> {
        let across = &self.sql.across;
        let topic = Word::from(topic);
        for _ in 0..2 {
            let mut text = Text::new();
            text.put(&across.begin, &[]);
            let place = text.put(&across.try_gate, &[("topic", &topic)]);
            let answers = session.open(text).await?;
            if !answers[place].rows.is_empty() {
                return Ok(true);
            }
            session.roll_back().await;
            if !answers[place + 1].rows.is_empty() {
                return Ok(false);
            }
            let mut text = Text::new();
            text.put(&across.make_gate, &[("topic", &topic)]);
            session.finish(text).await?;
        }
        Ok(false)
    }

    async fn collect_inside(
        &self,
        session: &mut Session<'_>,
        request: &CollectRequest,
    ) -> Result<Collected, Fault> {
        let floors = self.floors(session, &request.topic).await?;
        let mut work = Work::new(request.max);
        for place in &floors.places {
            work.plan(place, place.tail, place.floor);
        }
        if let Some(retention) = request.retention {
            self.plan_expired(session, request, retention, &floors, &mut work)
                .await?;
        }
        self.lock_tails(session, &request.topic, &mut work).await?;
        if work.ends.is_empty() {
            session.roll_back().await;
            return Ok(Collected {
                has_more: work.has_more,
                ..Collected::default()
            });
        }
        let expired = self.given_up(session, request, &floors, &work).await?;
        let removed = self.remove(session, request, &floors, &work).await?;
        let given_up: u64 = expired.iter().map(|expired| expired.messages).sum();
        Ok(Collected {
            acked: removed.saturating_sub(given_up),
            expired,
            has_more: work.has_more,
        })
    }

    /// Up to where every group has acked, in each partition that holds anything.
    async fn floors(&self, session: &mut Session<'_>, topic: &TopicName) -> Result<Floors, Fault> {
        let topic = Word::from(topic);
        let mut text = Text::new();
        let groups = text.put(&self.sql.offsets.groups, &[("topic", &topic)]);
        let own = text.put(&self.sql.offsets.partitions, &[("topic", &topic)]);
        let floors = text.put(&self.sql.across.floors, &[("topic", &topic)]);
        let answers = session.open(text).await?;
        let groups: Vec<GroupName> = answers[groups]
            .rows
            .iter()
            .map(sql::group)
            .collect::<Result<_, _>>()?;
        let mut acked: HashMap<&[u8], u64> = HashMap::new();
        for found in &answers[floors].rows {
            let count: u64 = row::get(found, "consumer_groups")?;
            // A group without a row of its own has acked nothing yet.
            if !groups.is_empty() && count == groups.len() as u64 {
                acked.insert(row::get(found, "partition_key")?, row::get(found, "floor")?);
            }
        }
        let mut places = Vec::new();
        for found in &answers[own].rows {
            let (head, tail): (u64, u64) = (
                row::get(found, "last_offset")?,
                row::get(found, "done_offset")?,
            );
            let key: &[u8] = row::get(found, "partition_key")?;
            if head > tail {
                places.push(Place {
                    partition: sql::partition(found)?,
                    head,
                    tail,
                    floor: acked.get(key).copied().unwrap_or_default().min(head),
                });
            }
        }
        Ok(Floors { groups, places })
    }

    /// Adds what is too old to what is to be removed.
    async fn plan_expired(
        &self,
        session: &mut Session<'_>,
        request: &CollectRequest,
        retention: Duration,
        floors: &Floors,
        work: &mut Work,
    ) -> Result<(), Fault> {
        let topic = Word::from(&request.topic);
        let retention = clock::millis(retention);
        let across = &self.sql.across;
        let mut text = Text::new();
        let old = text.put(
            &across.oldest,
            &[("topic", &topic), ("retention", &retention)],
        );
        let answers = session.open(text).await?;
        let old: BTreeSet<PartitionKey> = answers[old]
            .rows
            .iter()
            .map(sql::partition)
            .collect::<Result<_, _>>()?;
        let old: Vec<&Place> = floors
            .places
            .iter()
            .filter(|place| old.contains(&place.partition))
            .take(MOST_PARTITIONS)
            .collect();
        let left = work.left;
        if old.is_empty() || left == 0 {
            work.has_more |= !old.is_empty();
            return Ok(());
        }
        let places = joined(old.iter().enumerate(), " UNION ALL ", |text, (n, place)| {
            let (key, tail) = (key(&place.partition), place.tail.max(place.floor));
            let end = place.head.min(tail.saturating_add(left));
            write!(
                text,
                "SELECT {n} AS n, {key} AS partition_key, {tail} AS tail, {end} AS end_offset"
            )
        });
        let mut text = Text::new();
        let cuts = text.put(
            &across.expired,
            &[
                ("topic", &topic),
                ("retention", &retention),
                ("places", &places),
            ],
        );
        for found in &session.open(text).await?[cuts].rows {
            if let Some(place) = old.get(row::get::<u32>(found, "n")? as usize) {
                work.plan(place, place.tail.max(place.floor), row::get(found, "cut")?);
            }
        }
        Ok(())
    }

    /// Leaves those partitions out that somebody publishes to in an open transaction.
    async fn lock_tails(
        &self,
        session: &mut Session<'_>,
        topic: &TopicName,
        work: &mut Work,
    ) -> Result<(), Fault> {
        if work.ends.is_empty() {
            return Ok(());
        }
        let mut text = Text::new();
        let place = text.put(
            &self.sql.across.lock_tails,
            &[
                ("topic", &Word::from(topic)),
                ("partitions", &keys(work.ends.keys())),
            ],
        );
        let answers = session.open(text).await?;
        let locked: BTreeSet<PartitionKey> = answers[place]
            .rows
            .iter()
            .map(sql::partition)
            .collect::<Result<_, _>>()?;
        work.ends.retain(|partition, _| locked.contains(partition));
        Ok(())
    }

    /// What goes although some group has not acked it.
    async fn given_up(
        &self,
        session: &mut Session<'_>,
        request: &CollectRequest,
        floors: &Floors,
        work: &Work,
    ) -> Result<Vec<Expired>, Fault> {
        let unacked: Vec<(&Place, u64)> = floors
            .places
            .iter()
            .filter_map(|place| Some((place, *work.ends.get(&place.partition)?)))
            .filter(|(place, end)| *end > place.floor)
            .collect();
        if unacked.is_empty() {
            return Ok(Vec::new());
        }
        let topic = Word::from(&request.topic);
        let ranges = joined(&unacked, " OR ", |text, (place, end)| {
            let (key, from) = (key(&place.partition), place.tail.max(place.floor));
            write!(
                text,
                "(partition_key = {key} AND `offset` > {from} AND `offset` <= {end})"
            )
        });
        let mut text = Text::new();
        let counts = text.put(
            &self.sql.across.given_up,
            &[("topic", &topic), ("ranges", &ranges)],
        );
        let stands = text.put(
            &self.sql.across.stands,
            &[
                ("topic", &topic),
                ("groups", &floors.names()),
                (
                    "partitions",
                    &keys(unacked.iter().map(|(place, _)| &place.partition)),
                ),
            ],
        );
        let answers = session.open(text).await?;
        let mut acked: BTreeMap<(PartitionKey, GroupName), u64> = BTreeMap::new();
        for found in &answers[stands].rows {
            let whose = (sql::partition(found)?, sql::group(found)?);
            acked.insert(whose, row::get(found, "done_offset")?);
        }
        let expired = |found| {
            let partition = sql::partition(found)?;
            let last: u64 = row::get(found, "last_offset")?;
            let lags = |group: &&GroupName| {
                let acked = acked.get(&(partition.clone(), (*group).clone()));
                acked.copied().unwrap_or_default() < last
            };
            Ok(Expired {
                messages: row::get(found, "messages")?,
                groups: floors.groups.iter().filter(lags).cloned().collect(),
                partition,
            })
        };
        answers[counts].rows.iter().map(expired).collect()
    }

    /// Removes what is planned, and answers how many messages there were.
    async fn remove(
        &self,
        session: &mut Session<'_>,
        request: &CollectRequest,
        floors: &Floors,
        work: &Work,
    ) -> Result<u64, Fault> {
        let across = &self.sql.across;
        let topic = Word::from(&request.topic);
        let ranges = joined(&work.ends, " OR ", |text, (partition, end)| {
            let key = key(partition);
            write!(text, "(partition_key = {key} AND `offset` <= {end})")
        });
        let places = joined(&work.ends, " UNION ALL ", |text, (partition, end)| {
            write!(
                text,
                "SELECT {} AS partition_key, {end} AS tail",
                key(partition)
            )
        });
        let mut text = Text::new();
        let removed = text.put(
            &across.remove,
            &[("topic", &topic), ("ranges", &ranges), ("limit", &"")],
        );
        text.put(
            &across.forget_removed,
            &[
                ("topic", &topic),
                ("groups", &floors.names()),
                ("ranges", &ranges),
            ],
        );
        text.put(
            &across.move_tails,
            &[("topic", &topic), ("places", &places)],
        );
        text.put(&across.commit, &[]);
        Ok(session.finish(text).await?[removed].matched)
    }
}

/// A partition that holds messages.
struct Place {
    partition: PartitionKey,
    head: u64,
    tail: u64,
    /// Up to where every group has acked.
    floor: u64,
}

struct Floors {
    groups: Vec<GroupName>,
    places: Vec<Place>,
}

impl Floors {
    /// The groups as literals; a name that no group has when there is none.
    fn names(&self) -> String {
        let names = joined(&self.groups, ", ", |text, group| {
            write!(text, "{}", Word::from(group))
        });
        if names.is_empty() { "''".into() } else { names }
    }
}

/// What is to be removed: up to where, by partition.
struct Work {
    ends: BTreeMap<PartitionKey, u64>,
    /// How many more offsets one collection goes over.
    left: u64,
    has_more: bool,
}

impl Work {
    fn new(max: usize) -> Self {
        Self {
            ends: BTreeMap::new(),
            left: max as u64,
            has_more: false,
        }
    }

    fn plan(&mut self, place: &Place, from: u64, end: u64) {
        if end <= from {
            return;
        }
        let is_full = self.left == 0
            || (self.ends.len() >= MOST_PARTITIONS && !self.ends.contains_key(&place.partition));
        // What lies before has to go first.
        let is_behind = from > place.tail && self.ends.get(&place.partition) != Some(&from);
        if is_full || is_behind {
            self.has_more = true;
            return;
        }
        let count = (end - from).min(self.left);
        self.left -= count;
        self.has_more |= from + count < end;
        self.ends.insert(place.partition.clone(), from + count);
    }
}
