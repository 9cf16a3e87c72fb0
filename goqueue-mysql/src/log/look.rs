//! Whether there is anything to take in a partition.

use goqueue_core::log::GroupName;
use sqlx::mysql::MySqlRow;

use crate::{connections::Answer, error::Fault, row};

/// How many offsets behind the cursor one fetch goes over at most: a bound for what is opened at
/// once when messages are not visible yet, or gone.
const WINDOW: u64 = 10_000;

/// Where a group stands in a partition, and what is open.
#[derive(Debug, Default)]
pub(super) struct Look {
    pub(super) now: u64,
    pub(super) is_held: bool,
    pub(super) head: u64,
    pub(super) tail: u64,
    pub(super) cursor: u64,
    pub(super) watermark: u64,
    /// Whether the group has no row of its own for the partition yet.
    pub(super) is_new: bool,
    first_open: Option<u64>,
    /// When the first open message of each kind is visible: never delivered, delivered, postponed.
    pub(super) first: [Option<u64>; 3],
    pub(super) last_postponed: Option<u64>,
}

impl Look {
    pub(super) fn read(answers: &[Answer], group: &GroupName) -> Result<Self, Fault> {
        let [leases, places, open, ..] = answers else {
            return Err(Fault::Unusable("an answer is missing".into()));
        };
        let mut look = Self {
            is_new: true,
            ..Self::default()
        };
        if let Some(row) = leases.rows.first() {
            look.now = row::get(row, "now_ms")?;
            look.is_held = row::get::<i64>(row, "is_held")? > 0;
        }
        look.read_places(&places.rows, group)?;
        if let Some(row) = open.rows.first() {
            look.first_open = row::get(row, "first_open")?;
            look.first = [
                row::get(row, "first_new")?,
                row::get(row, "first_again")?,
                row::get(row, "first_held")?,
            ];
            look.last_postponed = row::get(row, "last_held")?;
        }
        Ok(look)
    }

    fn read_places(&mut self, rows: &[MySqlRow], group: &GroupName) -> Result<(), Fault> {
        let mut default = (0, 0);
        for row in rows {
            let whose: String = row::get(row, "consumer_group")?;
            let partition: &[u8] = row::get(row, "partition_key")?;
            let offsets = (row::get(row, "last_offset")?, row::get(row, "done_offset")?);
            if whose != group.as_str() {
                (self.head, self.tail) = offsets;
            } else if partition.is_empty() {
                default = offsets;
            } else {
                self.is_new = false;
                (self.cursor, self.watermark) = offsets;
            }
        }
        if self.is_new {
            (self.cursor, self.watermark) = default;
        }
        // What was collected, or given up, is behind everybody.
        self.cursor = self.cursor.max(self.tail);
        self.watermark = self.watermark.max(self.tail);
        Ok(())
    }

    /// Up to where one fetch reads at most.
    pub(super) fn end(&self) -> u64 {
        self.head.min(self.cursor.saturating_add(WINDOW))
    }

    /// Whether a message is open that was delivered before.
    pub(super) fn has_delivered(&self) -> bool {
        let [_, again, postponed] = self.first;
        again.is_some() || postponed.is_some()
    }

    fn is_visible(&self, at: Option<u64>) -> bool {
        at.is_some_and(|at| at <= self.now)
    }

    /// Whether there is anything to take, or to write down.
    pub(super) fn is_worth_a_fetch(&self, is_serial: bool) -> bool {
        if self.last_postponed.is_some_and(|until| until > self.now) {
            return false;
        }
        let [new, again, postponed] = self.first;
        if is_serial && self.has_delivered() {
            return self.is_visible(again) || self.is_visible(postponed);
        }
        let acked = self.first_open.map_or(self.cursor, |open| open - 1);
        self.head > self.cursor
            || acked > self.watermark
            || [new, again, postponed]
                .iter()
                .any(|at| self.is_visible(*at))
    }
}
