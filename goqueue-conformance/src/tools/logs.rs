use std::{
    io::{self, Write},
    sync::{LazyLock, Mutex, MutexGuard, Once, PoisonError},
};

use tracing_subscriber::{filter::LevelFilter, fmt::MakeWriter};

static LINES: LazyLock<Mutex<Vec<String>>> = LazyLock::new(Mutex::default);

/// Collects what this process logs from now on, as a person would read it.
///
/// # Panics
/// When the test binary has installed another subscriber.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing_subscriber::fmt()
            .with_max_level(LevelFilter::DEBUG)
            .with_ansi(false)
            .with_writer(Collector)
            .init();
    });
}

/// The lines logged so far that mention `text`.
pub(crate) fn logged(text: &str) -> Vec<String> {
    lines()
        .iter()
        .filter(|line| line.contains(text))
        .cloned()
        .collect()
}

fn lines() -> MutexGuard<'static, Vec<String>> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Clone, Copy, Debug)]
struct Collector;

impl Write for Collector {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lines().push(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Collector {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        *self
    }
}
