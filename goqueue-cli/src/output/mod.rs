//! What a command answers: a table for people, JSON for programs.

pub(crate) mod human;
pub(crate) mod job;
pub(crate) mod json;
pub(crate) mod style;
pub(crate) mod table;

use std::io::{self, Write};

use serde::Serialize;

use crate::failure::Result;

/// Writes an object, over several lines.
pub(crate) fn json(value: &impl Serialize) -> Result {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Writes an object on a line of its own, and lets it go at once.
pub(crate) fn json_line(value: &impl Serialize) -> Result {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}

/// Writes text as it is.
pub(crate) fn text(text: &str) -> Result {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}
