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
    let mut text = String::from("| clause | cases |\n| --- | --- |\n");
    for clause in Clause::ALL {
        let cases: Vec<_> = CASES
            .iter()
            .filter(|case| case.clause == clause)
            .map(|case| format!("`{}`", case.name))
            .collect();
        let _ = writeln!(
            text,
            "| {clause:?} {} | {} |",
            clause.title(),
            cases.join(" · ")
        );
    }
    text
}

/// Compares the table in a document with the cases there are.
///
/// # Panics
/// When they differ, with the command that mends it, or when the document cannot be read or has no
/// place for a table.
pub fn check_table(document: &Path) {
    let path = document.display();
    let text = std::fs::read_to_string(document)
        .unwrap_or_else(|error| panic!("{path} cannot be read: {error}"));
    let [begin, end] = MARKS;
    let found = text.split_once(begin).and_then(|(before, rest)| {
        let (held, after) = rest.split_once(end)?;
        Some((before, held, after))
    });
    let Some((before, held, after)) = found else {
        panic!("{path} has no table: it lacks the lines `{begin}` and `{end}`");
    };
    let table = table();
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
