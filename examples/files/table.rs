//! Columns that line up, with colours where they help and are wanted.

use std::{env, io::IsTerminal};

/// What a piece of text says by its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Faint,
    Bold,
    Good,
    Warning,
    Bad,
}

/// Whether to colour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint(bool);

impl Paint {
    /// Colours for a terminal, unless `NO_COLOR` is set to something (no-color.org).
    pub(crate) fn for_output(output: &impl IsTerminal) -> Self {
        let is_unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self(output.is_terminal() && !is_unwanted)
    }

    /// The text in its tone.
    pub(crate) fn text(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            _ if !self.0 || text.is_empty() => return text.into(),
            Tone::Plain => return text.into(),
            Tone::Faint => "2",
            Tone::Bold => "1",
            Tone::Good => "32",
            Tone::Warning => "33",
            Tone::Bad => "31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Where a column's text stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Align {
    Left,
    Right,
}

/// One line of cells. What does not fit its column is cut with an ellipsis.
pub(crate) fn line(
    paint: Paint,
    columns: &[(usize, Align)],
    cells: impl IntoIterator<Item = (Tone, String)>,
) -> String {
    let cells = columns
        .iter()
        .zip(cells)
        .map(|((width, align), (tone, text))| {
            let text = cut(&text, *width);
            let gap = " ".repeat(width - text.chars().count());
            let text = paint.text(tone, &text);
            match align {
                Align::Left => text + &gap,
                Align::Right => gap + &text,
            }
        });
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

/// The text in at most `width` characters.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.into();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}
