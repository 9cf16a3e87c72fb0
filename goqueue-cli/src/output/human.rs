//! Numbers, times and foreign text as people read them.

use std::{
    fmt::Write,
    time::{Duration, UNIX_EPOCH},
};

/// `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 job`, `2 jobs`.
pub(crate) fn counted(number: u64, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {one}{plural}", count(number))
}

/// The two largest units: `250ms`, `4s`, `3m 20s`, `2d 4h`.
pub(crate) fn age(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds == 0 {
        return format!("{}ms", duration.as_millis());
    }
    let parts = [
        (seconds / 86_400, "d"),
        (seconds / 3_600 % 24, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let first = parts.iter().position(|(n, _)| *n > 0).unwrap_or_default();
    let shown = parts[first..].iter().take(2).filter(|(n, _)| *n > 0);
    let shown: Vec<String> = shown.map(|(n, unit)| format!("{n}{unit}")).collect();
    shown.join(" ")
}

/// Milliseconds since the Unix epoch as `2026-11-30T22:15:04Z`.
pub(crate) fn time(millis: u64) -> String {
    // Beyond the year 9999 there is no such text.
    let longest = Duration::from_secs(253_402_300_799);
    let since = Duration::from_millis(millis).min(longest);
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string()
}

/// Now, in milliseconds since the Unix epoch, by this machine's clock.
pub(crate) fn now() -> u64 {
    let since = UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Text that somebody else wrote, on one line and without anything that a terminal would obey.
pub(crate) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => shown.push(' '),
            c if c.is_control() || is_direction(c) => {
                // Writing to a string cannot fail.
                let _ = write!(shown, "{}", c.escape_unicode());
            }
            c => shown.push(c),
        }
    }
    shown
}

/// The same over several lines.
pub(crate) fn plain_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(plain).collect();
    lines.join("\n")
}

/// Marks that change the direction of the text around them.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        let shown = [0, 999, 1_000, 1_234_567].map(count);
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            (counted(1, "job"), counted(0, "job")),
            ("1 job".into(), "0 jobs".into())
        );
    }

    #[test]
    fn ages_have_two_units() {
        let shown = [0, 250, 4_000, 200_000, 3_600_000, 187_200_000]
            .map(|millis| age(Duration::from_millis(millis)));
        assert_eq!(shown, ["0ms", "250ms", "4s", "3m 20s", "1h", "2d 4h"]);
    }

    #[test]
    fn times_are_in_utc() {
        assert_eq!(time(1_000_000_000_000), "2001-09-09T01:46:40Z");
        assert_eq!(time(u64::MAX), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn a_terminal_obeys_nothing_that_others_wrote() {
        let shown = plain("a\u{1b}[31mb\nc\u{202e}d\u{9b}");
        assert_eq!(shown, "a\\u{1b}[31mb c\\u{202e}d\\u{9b}");
        assert_eq!(plain_lines("a\n\u{7}b\n"), "a\n\\u{7}b");
    }
}
