//! The live view as lines of text.

use std::time::Duration;

use crate::output::{
    human::{age, count, plain},
    json::{QueueLine, WatchedQueue},
    style::{BOLD, DIM, RED, RESET},
};

/// Columns beside the name, each with a space in front. Together 62: at 80 columns a name has 18.
const NUMBERS: [(&str, usize); 7] = [
    ("READY", 9),
    ("SCHED", 9),
    ("RUN", 6),
    ("DEAD", 7),
    ("OLDEST", 8),
    ("READY/S", 8),
    ("DEAD/MIN", 8),
];

/// What the view shows.
pub(super) struct View<'a> {
    pub(super) backend: &'a str,
    /// When the counts were taken, as text.
    pub(super) at: String,
    pub(super) interval: Duration,
    pub(super) queues: &'a [WatchedQueue],
    /// Why the counts are not those of now, and for how long they have not been.
    pub(super) error: Option<(String, Duration)>,
}

impl View<'_> {
    /// Lines of at most `width` columns, at most `height` of them.
    pub(super) fn lines(&self, width: u16, height: u16, has_colour: bool) -> Vec<String> {
        let (width, height) = (usize::from(width), usize::from(height));
        let paint = |on: &str, text: String| {
            if has_colour {
                format!("{on}{text}{RESET}")
            } else {
                text
            }
        };
        let title = format!(
            "{}  every {}  q ends  {}",
            self.at,
            age(self.interval),
            self.backend
        );
        let mut lines = vec![paint(BOLD, cut(&title, width))];
        lines.push(match &self.error {
            Some((error, since)) => {
                let text = format!("no answer for {}: {}", age(*since), plain(error));
                paint(RED, cut(&text, width))
            }
            None => String::new(),
        });
        lines.push(paint(DIM, cut(&head(width), width)));
        let room = height.saturating_sub(lines.len() + 2).max(1);
        let shown = if self.queues.len() > room {
            room - 1
        } else {
            self.queues.len()
        };
        for queue in &self.queues[..shown] {
            let line = cut(&row(queue, width), width);
            lines.push(if queue.line.dead > 0 {
                paint(RED, line)
            } else {
                line
            });
        }
        if shown < self.queues.len() {
            let more = self.queues.len() - shown;
            lines.push(cut(
                &format!("and {more} more: name the queues to see"),
                width,
            ));
        }
        lines.push(String::new());
        lines.push(paint(BOLD, cut(&row(&total(self.queues), width), width)));
        lines.truncate(height);
        lines
    }
}

fn name_width(width: usize) -> usize {
    let numbers: usize = NUMBERS.iter().map(|(_, width)| width + 1).sum();
    width.saturating_sub(numbers).clamp(8, 64)
}

fn head(width: usize) -> String {
    let mut text = format!("{:<1$}", "QUEUE", name_width(width));
    for (name, width) in NUMBERS {
        text += &format!(" {name:>width$}");
    }
    text
}

fn row(queue: &WatchedQueue, width: usize) -> String {
    let line = &queue.line;
    let width = name_width(width);
    let mut text = format!("{:<width$}", cut(&line.queue, width));
    let since = line.oldest_ready_ms.map(Duration::from_millis);
    let cells = [
        short(line.ready),
        short(line.scheduled),
        short(line.running),
        short(line.dead),
        since.map_or_else(|| "-".into(), age),
        queue.ready_per_second.map_or_else(|| "-".into(), signed),
        queue.dead_per_minute.map_or_else(|| "-".into(), signed),
    ];
    for (cell, (_, width)) in cells.iter().zip(NUMBERS) {
        text += &format!(" {cell:>width$}");
    }
    text
}

fn total(queues: &[WatchedQueue]) -> WatchedQueue {
    let sum = |of: fn(&QueueLine) -> u64| queues.iter().map(|queue| of(&queue.line)).sum();
    let rate = |of: fn(&WatchedQueue) -> Option<f64>| {
        let rates: Vec<f64> = queues.iter().filter_map(of).collect();
        (!rates.is_empty()).then(|| rates.iter().sum())
    };
    WatchedQueue {
        line: QueueLine {
            queue: "all".into(),
            ready: sum(|line| line.ready),
            scheduled: sum(|line| line.scheduled),
            running: sum(|line| line.running),
            dead: sum(|line| line.dead),
            oldest_ready_ms: queues
                .iter()
                .filter_map(|queue| queue.line.oldest_ready_ms)
                .max(),
        },
        ready_per_second: rate(|queue| queue.ready_per_second),
        dead_per_minute: rate(|queue| queue.dead_per_minute),
    }
}

/// `999,999`, and from a million on `1.2M`.
fn short(number: u64) -> String {
    match number {
        0..=999_999 => count(number),
        1_000_000..=999_999_999 => format!("{:.1}M", number as f64 / 1e6),
        _ => format!("{:.1}G", number as f64 / 1e9),
    }
}

/// `+12.5`, `-3`, `0`.
pub(super) fn signed(rate: f64) -> String {
    match rate {
        r if r.abs() < 0.05 => "0".into(),
        r if r.abs() < 100.0 => format!("{r:+.1}"),
        r => format!("{r:+.0}"),
    }
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.into();
    }
    let kept = text.chars().take(width.saturating_sub(1));
    kept.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(name: &str, ready: u64, dead: u64) -> WatchedQueue {
        WatchedQueue {
            line: QueueLine {
                queue: name.into(),
                ready,
                scheduled: 12_000,
                running: 32,
                dead,
                oldest_ready_ms: Some(200_000),
            },
            ready_per_second: Some(-12.34),
            dead_per_minute: None,
        }
    }

    fn view(queues: &[WatchedQueue], error: Option<(String, Duration)>) -> View<'_> {
        View {
            backend: "redis://127.0.0.1:6379/0",
            at: "22:15:04".into(),
            interval: Duration::from_secs(2),
            queues,
            error,
        }
    }

    #[test]
    fn eighty_columns_are_enough_and_no_colour_is_needed() {
        let queues = [
            queue("mail", 1_234, 0),
            queue(&"q".repeat(64), 123_456_789, 7),
        ];
        let lines = view(&queues, None).lines(80, 24, false);
        let expected = [
            "22:15:04  every 2s  q ends  redis://127.0.0.1:6379/0",
            "",
            "QUEUE                  READY     SCHED    RUN    DEAD   OLDEST  READY/S DEAD/MIN",
            "mail                   1,234    12,000     32       0   3m 20s    -12.3        -",
            "qqqqqqqqqqqqqqqqq…    123.5M    12,000     32       7   3m 20s    -12.3        -",
            "",
            "all                   123.5M    24,000     64       7   3m 20s    -24.7        -",
        ];
        assert_eq!(lines, expected);
        assert!(lines.iter().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let queues: Vec<_> = (0..30).map(|n| queue(&format!("q{n}"), 1, 0)).collect();
        let lines = view(&queues, None).lines(80, 10, false);
        assert_eq!(lines.len(), 10);
        assert_eq!(lines[7], "and 26 more: name the queues to see");
        assert!(lines[9].starts_with("all "));
        let lines = view(&queues, None).lines(20, 3, false);
        assert!(lines.len() == 3 && lines.iter().all(|line| line.chars().count() <= 20));
    }

    #[test]
    fn colour_and_errors_stand_out() {
        let queues = [queue("mail", 1, 3)];
        let error = Some(("refused\u{1b}".into(), Duration::from_secs(5)));
        let lines = view(&queues, error).lines(80, 24, true);
        assert_eq!(lines[1], "\x1b[31mno answer for 5s: refused\\u{1b}\x1b[0m");
        assert!(lines[3].starts_with("\x1b[31mmail "));
    }

    #[test]
    fn rates_have_a_sign() {
        assert_eq!(
            [0.0, 0.04, -0.3, 99.94, 1234.5].map(signed),
            ["0", "0", "-0.3", "+99.9", "+1234"]
        );
    }
}
