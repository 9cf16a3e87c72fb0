//! Asking before something is lost.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::failure::{Failure, Result};

/// Goes on when the caller said `--yes` or answers "yes" at the terminal. `what` is a clause:
/// "this deletes 12 dead letters of queue `mail` for good".
pub(crate) fn confirm(what: &str, yes: bool) -> Result {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::usage(format!("{what}; nothing was changed"))
            .help("there is no terminal to ask at: say `--yes` if that is what you want"));
    }
    let mut screen = io::stderr();
    write!(screen, "{what}. Go on? [y/N] ")?;
    screen.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::new("nothing was changed")),
    }
}
