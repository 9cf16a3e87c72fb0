//! Whether there is colour, and how wide the screen is.

use std::{env, io::IsTerminal};

/// Colour goes to a terminal only, and not where `NO_COLOR` is set (to anything, as its authors ask)
/// or the terminal knows none.
pub(crate) fn has_colour(stream: &impl IsTerminal) -> bool {
    let is_refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || env::var_os("TERM").is_some_and(|term| term == "dumb");
    stream.is_terminal() && !is_refused
}

/// Columns of the terminal; `None` where the output is no terminal and may be as wide as it is.
pub(crate) fn width() -> Option<u16> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    crossterm::terminal::size().ok().map(|(columns, _)| columns)
}

pub(crate) const BOLD: &str = "\x1b[1m";
pub(crate) const DIM: &str = "\x1b[2m";
pub(crate) const RED: &str = "\x1b[31m";
pub(crate) const RESET: &str = "\x1b[0m";
