//! How fast counts change.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use tokio::time::Instant;

use crate::output::json::{QueueLine, WatchedQueue};

/// How far back a rate looks. Long enough that one burst between two looks is no trend.
const WINDOW: Duration = Duration::from_secs(30);

/// What was seen of each queue lately.
#[derive(Default)]
pub(super) struct History(BTreeMap<String, VecDeque<(Instant, u64, u64)>>);

impl History {
    /// Notes the counts of now, and adds how fast they have changed.
    pub(super) fn add(&mut self, now: Instant, lines: Vec<QueueLine>) -> Vec<WatchedQueue> {
        self.0
            .retain(|name, _| lines.iter().any(|line| line.queue == *name));
        lines
            .into_iter()
            .map(|line| self.add_one(now, line))
            .collect()
    }

    fn add_one(&mut self, now: Instant, line: QueueLine) -> WatchedQueue {
        let seen = self.0.entry(line.queue.clone()).or_default();
        while seen
            .front()
            .is_some_and(|(at, ..)| now.duration_since(*at) > WINDOW)
        {
            seen.pop_front();
        }
        let rates = seen.front().and_then(|(at, ready, dead)| {
            let seconds = now.duration_since(*at).as_secs_f64();
            let per_second = |now: u64, then: u64| (now as f64 - then as f64) / seconds;
            let rates = (
                per_second(line.ready, *ready),
                60.0 * per_second(line.dead, *dead),
            );
            (seconds > 0.0).then_some(rates)
        });
        seen.push_back((now, line.ready, line.dead));
        WatchedQueue {
            line,
            ready_per_second: rates.map(|(ready, _)| ready),
            dead_per_minute: rates.map(|(_, dead)| dead),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(ready: u64, dead: u64) -> Vec<QueueLine> {
        vec![QueueLine {
            queue: "mail".into(),
            ready,
            scheduled: 0,
            running: 0,
            dead,
            oldest_ready_ms: None,
        }]
    }

    #[test]
    fn rates_are_those_of_the_window() {
        let mut history = History::default();
        let start = Instant::now();
        let mut at = |seconds: u64, ready, dead| {
            let now = start + Duration::from_secs(seconds);
            let queue = history.add(now, line(ready, dead)).remove(0);
            (queue.ready_per_second, queue.dead_per_minute)
        };
        assert_eq!(at(0, 100, 0), (None, None));
        assert_eq!(at(10, 50, 1), (Some(-5.0), Some(6.0)));
        assert_eq!(at(20, 50, 1), (Some(-2.5), Some(3.0)));
        // The first two are too old by now.
        assert_eq!(at(50, 80, 1), (Some(1.0), Some(0.0)));
    }

    #[test]
    fn a_queue_that_left_is_forgotten() {
        let mut history = History::default();
        let now = Instant::now();
        history.add(now, line(1, 0));
        history.add(now, Vec::new());
        assert!(history.0.is_empty());
    }
}
