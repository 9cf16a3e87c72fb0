//! The terminal while the live view has it.

use std::io::{self, Stdout, Write, stdout};

use crossterm::{
    cursor::{Hide, MoveTo, Show},
    event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers},
    execute, queue,
    style::Print,
    terminal::{
        Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
        enable_raw_mode, size,
    },
};

/// A second screen on which nothing is echoed. The first one is as it was when this is dropped, a
/// panic included.
pub(super) struct Screen(Stdout);

impl Screen {
    pub(super) fn open() -> io::Result<Self> {
        enable_raw_mode()?;
        let mut screen = Self(stdout());
        execute!(screen.0, EnterAlternateScreen, Hide)?;
        Ok(screen)
    }

    /// Columns and rows. A terminal that does not tell has the classic size.
    pub(super) fn size() -> (u16, u16) {
        size()
            .ok()
            .filter(|(columns, rows)| *columns > 0 && *rows > 0)
            .unwrap_or((80, 24))
    }

    /// Puts lines in the place of those that are there, without a flicker.
    pub(super) fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        for (row, line) in lines.iter().enumerate() {
            let row = u16::try_from(row).unwrap_or(u16::MAX);
            queue!(
                self.0,
                MoveTo(0, row),
                Print(line),
                Clear(ClearType::UntilNewLine)
            )?;
        }
        let below = u16::try_from(lines.len()).unwrap_or(u16::MAX);
        if below < Self::size().1 {
            queue!(self.0, MoveTo(0, below), Clear(ClearType::FromCursorDown))?;
        }
        self.0.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // There is nobody left to tell.
        let _ = execute!(self.0, Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

/// Whether a key says that it is enough: `q`, Escape, or Ctrl-C, which is a key here.
pub(super) fn is_end(event: &Event) -> bool {
    let Event::Key(KeyEvent {
        code,
        modifiers,
        kind,
        ..
    }) = event
    else {
        return false;
    };
    let is_control = modifiers.contains(KeyModifiers::CONTROL);
    *kind == KeyEventKind::Press
        && match code {
            KeyCode::Char('q' | 'Q') | KeyCode::Esc => true,
            KeyCode::Char('c' | 'd') => is_control,
            _ => false,
        }
}
