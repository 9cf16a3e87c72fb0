use std::{
    io::{self, Write},
    sync::{LazyLock, Mutex, MutexGuard, Once, PoisonError},
};

use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    fmt::MakeWriter,
    prelude::*,
};

static LINES: LazyLock<Mutex<Vec<String>>> = LazyLock::new(Mutex::default);

const LOUD: [&str; 6] = [
    "aws_config",
    "aws_runtime",
    "aws_sigv4",
    "aws_smithy_http_client",
    "aws_smithy_runtime",
    "hyper_util",
];

/// Collects what this process logs from now on, as a person would read it.
///
/// # Panics
/// When the test binary has installed another subscriber.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Client libraries that say a page about each call would take most of the time.
        let targets = LOUD.map(|target| (target, LevelFilter::INFO));
        let filter = Targets::new()
            .with_default(LevelFilter::DEBUG)
            .with_targets(targets);
        let lines = tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(Collector);
        tracing_subscriber::registry()
            .with(lines.with_filter(filter))
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
