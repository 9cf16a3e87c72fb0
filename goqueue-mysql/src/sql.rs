//! The statements, each in a file of its own, and how values get into them.
//!
//! The batch calls are sent as text, several statements at once: a reservation of a hundred jobs is
//! two round trips instead of five. Only numbers, checked names and hexadecimal literals are ever
//! put into such a text, so there is nothing to escape. What may be large is bound instead.

use std::fmt::{self, Display, Write};

use goqueue_core::QueueName;

use crate::clock::{HELD, HELD_FROM, NEVER, NOW};

/// Every statement of one folder, for one prefix: `statements! { Name in "folder": file file }`.
macro_rules! statements {
    ($(#[$doc:meta])* $type:ident in $folder:literal: $($name:ident)+) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $type {
            $(pub(crate) $name: $crate::sql::Template,)+
            #[allow(dead_code, reason = "not every folder needs it")]
            pub(crate) prefix: String,
        }

        impl $type {
            pub(crate) fn new(prefix: &str) -> Self {
                Self {
                    $($name: $crate::sql::Template::new(
                        include_str!(concat!($folder, "/", stringify!($name), ".sql")),
                        prefix,
                    ),)+
                    prefix: prefix.into(),
                }
            }

            #[cfg(test)]
            pub(crate) const FILES: &[&str] = &[$(concat!(stringify!($name), ".sql"),)+];
        }
    };
}
pub(crate) use statements;

statements! {
    /// The statements of the job queue.
    Statements in "sql":
    begin bury close_lanes commit dead_letters delete_jobs delete_letters diagnose_rights
    diagnose_server diagnose_tables drop_free_keys drop_keys
    drop_letters extend fetch first_in_lanes free_keys held_leases hold insert_held insert_jobs insert_lane_jobs
    key_holders leave_lanes leave_line lock_jobs lock_lanes lock_letters look open_lanes
    orphaned_jobs orphaned_lanes peek point_lanes purge_jobs purge_scan queues read_lanes release remember_queue retake_keys retry
    revive scan stand_in_line stats store_letter take take_keys taken_keys try_lock_lanes unhold
}

/// A statement, or a few, with slots for values.
#[derive(Debug)]
pub(crate) struct Template {
    parts: Vec<Part>,
    statements: usize,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Slot(&'static str),
}

impl Template {
    pub(crate) fn new(file: &'static str, prefix: &str) -> Self {
        let mut parts = Vec::new();
        let mut statements = 0;
        for line in file.lines().filter(|line| !line.starts_with("--")) {
            statements += usize::from(line.ends_with(';'));
            let mut rest = line.trim_start();
            while let Some((before, after)) = rest.split_once('{') {
                push_text(&mut parts, before);
                let Some((slot, after)) = after.split_once('}') else {
                    break;
                };
                match slot {
                    "prefix" => push_text(&mut parts, prefix),
                    "now" => push_text(&mut parts, NOW),
                    "held" => push_text(&mut parts, &HELD.to_string()),
                    "held_from" => push_text(&mut parts, &HELD_FROM.to_string()),
                    "never" => push_text(&mut parts, &NEVER.to_string()),
                    _ => parts.push(Part::Slot(slot)),
                }
                rest = after;
            }
            push_text(&mut parts, rest);
            push_text(&mut parts, "\n");
        }
        Self { parts, statements }
    }

    /// The text with every slot filled. A slot without a value stays empty.
    pub(crate) fn with(&self, values: &[(&str, &dyn Display)]) -> String {
        let mut text = String::new();
        self.write(&mut text, values);
        text
    }

    fn write(&self, text: &mut String, values: &[(&str, &dyn Display)]) {
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Slot(slot) => {
                    let value = values.iter().find(|(name, _)| name == slot);
                    debug_assert!(value.is_some(), "no value for {{{slot}}}");
                    if let Some((_, value)) = value {
                        // Writing to a string cannot fail.
                        let _ = write!(text, "{value}");
                    }
                }
            }
        }
    }
}

fn push_text(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Text(last)) => last.push_str(text),
        _ => parts.push(Part::Text(text.into())),
    }
}

/// Statements that go to the server together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    text: String,
    statements: usize,
}

impl Message {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a template and returns which answer is its first statement's.
    pub(crate) fn put(&mut self, template: &Template, values: &[(&str, &dyn Display)]) -> usize {
        let place = self.statements;
        template.write(&mut self.text, values);
        self.statements += template.statements;
        place
    }

    /// One statement that is no template.
    pub(crate) fn of(text: &str) -> Self {
        Self {
            text: text.into(),
            statements: 1,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.statements == 0
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

/// A queue's name as a literal. Its characters need no escaping.
pub(crate) struct Name<'a>(pub(crate) &'a QueueName);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.0)
    }
}

/// Bytes as a literal.
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        f.write_str("x'")?;
        let mut digits = [0; 256];
        for bytes in self.0.chunks(digits.len() / 2) {
            for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
                pair[0] = DIGITS[usize::from(byte >> 4)];
                pair[1] = DIGITS[usize::from(byte & 15)];
            }
            let text = std::str::from_utf8(&digits[..bytes.len() * 2]).map_err(|_| fmt::Error)?;
            f.write_str(text)?;
        }
        f.write_str("'")
    }
}

/// Items with something between them.
pub(crate) fn joined<T>(
    items: impl IntoIterator<Item = T>,
    separator: &str,
    mut write: impl FnMut(&mut String, T) -> fmt::Result,
) -> String {
    let mut text = String::new();
    for item in items {
        if !text.is_empty() {
            text.push_str(separator);
        }
        // Writing to a string cannot fail.
        let _ = write(&mut text, item);
    }
    text
}

/// Numbers with commas between them.
pub(crate) fn list(numbers: impl IntoIterator<Item = u64>) -> String {
    joined(numbers, ",", |text, number| write!(text, "{number}"))
}

/// The folder has these files and no others, in this order, and each begins with a comment.
#[cfg(test)]
pub(crate) fn assert_files(folder: &str, names: &[&str]) {
    let folder = format!("{}/{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut found: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, names);
    for file in found {
        let text = std::fs::read_to_string(format!("{folder}/{file}")).unwrap();
        assert!(text.starts_with("-- "), "{file} has no comment");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_filled_and_counts_its_statements() {
        let template = Template::new("-- why\nSELECT {a} FROM {prefix}_x;\nDELETE {b};\n", "p");
        assert_eq!(template.statements, 2);
        let text = template.with(&[("b", &2), ("a", &Hex(&[0xab, 1]))]);
        assert_eq!(text, "SELECT x'ab01' FROM p_x;\nDELETE 2;\n");
    }

    #[test]
    fn bytes_of_any_number_become_hexadecimal() {
        for length in [0, 1, 127, 128, 129, 300] {
            let bytes: Vec<u8> = (0..length).map(|n| (n % 256) as u8).collect();
            let plain: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(Hex(&bytes).to_string(), format!("x'{plain}'"));
        }
    }

    #[test]
    fn a_message_says_where_its_answers_are() {
        let sql = Statements::new("p");
        let mut message = Message::new();
        assert_eq!(message.put(&sql.begin, &[]), 0);
        assert_eq!(message.put(&sql.fetch, &[("seqs", &list([1, 2]))]), 2);
        assert_eq!(message.put(&sql.commit, &[]), 3);
        let text = message.into_text();
        assert!(
            text.ends_with("FROM p_jobs WHERE seq IN (1,2);\nCOMMIT;\n"),
            "{text}"
        );
    }

    #[test]
    fn every_file_is_used_and_says_what_it_is_for() {
        assert_files("src/sql", Statements::FILES);
    }
}
