use std::sync::LazyLock;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

/// Fires on the second signal that [`shutdown_signal`] saw.
static SECOND: LazyLock<CancellationToken> = LazyLock::new(CancellationToken::new);

/// Resolves on the first Ctrl-C or, on Unix, SIGTERM. A second one makes the workers that are
/// shutting down abort.
///
/// From the call on, these signals no longer end the process by themselves, and none is missed. (From
/// the first poll on, when it is called outside a tokio runtime.)
#[must_use = "the signal is waited for when this is awaited"]
pub fn shutdown_signal() -> impl Future<Output = ()> + Send + 'static {
    // Whoever starts a worker with this may be told to stop before the worker polls it.
    let signals = Handle::try_current().is_ok().then(Signals::listen);
    async move {
        let mut signals = signals.unwrap_or_else(Signals::listen);
        signals.next().await;
        tracing::info!("shutting down; a second signal aborts");
        tokio::spawn(async move {
            signals.next().await;
            tracing::warn!("second signal: aborting");
            SECOND.cancel();
        });
    }
}

/// Waits for the signal to abort.
pub(super) async fn second_signal() {
    SECOND.cancelled().await;
}

#[cfg(unix)]
struct Signals(Vec<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Signals {
    fn listen() -> Self {
        use tokio::signal::unix::{SignalKind, signal};

        let kinds = [
            ("SIGINT", SignalKind::interrupt()),
            ("SIGTERM", SignalKind::terminate()),
        ];
        let heard = kinds.into_iter().filter_map(|(name, kind)| {
            // A worker that cannot be told to stop in every way is better than one that does not
            // start.
            signal(kind)
                .inspect_err(|error| tracing::error!(%error, "cannot listen for {name}"))
                .ok()
        });
        Self(heard.collect())
    }

    async fn next(&mut self) {
        if self.0.is_empty() {
            return std::future::pending().await;
        }
        futures_util::future::select_all(self.0.iter_mut().map(|signal| Box::pin(signal.recv())))
            .await;
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> Self {
        Self
    }

    async fn next(&mut self) {
        if let Err(error) = tokio::signal::ctrl_c().await {
            // A worker that cannot be told to stop is better than one that stops at its start.
            tracing::error!(%error, "cannot listen for Ctrl-C");
            std::future::pending::<()>().await;
        }
    }
}
