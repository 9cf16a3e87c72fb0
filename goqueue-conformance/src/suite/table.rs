use std::{fmt::Write, path::Path};

use super::CASES;
use crate::clause::Clause;

/// The lines between which a document holds the [`table`].
pub const MARKS: [&str; 2] = ["<!-- cases: begin -->", "<!-- cases: end -->"];

/// Set to anything, makes [`check_table`] write the table instead of comparing it.
const BLESS: &str = "GOQUEUE_TEST_BLESS";

/// Which cases check which clause, as Markdown.
#[must_use]
pub fn table() -> String {
    table_of(Clause::ALL.into_iter().map(|clause| {
        let cases = CASES.iter().filter(|case| case.clause == clause);
        let names = cases.map(|case| case.name).collect();
        (format!("{clause:?} {}", clause.title()), names)
    }))
}

/// A table of clauses and the names of their cases, as Markdown.
pub(crate) fn table_of(rows: impl Iterator<Item = (String, Vec<&'static str>)>) -> String {
    let mut text = String::from("| clause | cases |\n| --- | --- |\n");
    for (clause, names) in rows {
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(text, "| {clause} | {} |", names.join(" · "));
    }
    text
}

/// Compares the table in a document with the cases there are.
///
/// # Panics
/// When they differ, with the command that mends it, or when the document cannot be read or has no
/// place for a table.
pub fn check_table(document: &Path) {
    check_table_between(document, MARKS, &table());
}

/// Compares a table with the one between two lines of a document.
pub(crate) fn check_table_between(document: &Path, marks: [&str; 2], table: &str) {
    let path = document.display();
    let text = std::fs::read_to_string(document)
        .unwrap_or_else(|error| panic!("{path} cannot be read: {error}"));
    let [begin, end] = marks;
    let found = text.split_once(begin).and_then(|(before, rest)| {
        let (held, after) = rest.split_once(end)?;
        Some((before, held, after))
    });
    let Some((before, held, after)) = found else {
        panic!("{path} has no table: it lacks the lines `{begin}` and `{end}`");
    };
    if held.trim() == table.trim() {
        return;
    }
    if std::env::var_os(BLESS).is_some() {
        let text = format!("{before}{begin}\n{table}{end}{after}");
        std::fs::write(document, text)
            .unwrap_or_else(|error| panic!("{path} cannot be written: {error}"));
        return;
    }
    panic!(
        "the table of cases in {path} is not what the suite has; run the test once more with \
         {BLESS}=1 to write it\nexpected:\n{table}\nfound:\n{held}"
    );
}
