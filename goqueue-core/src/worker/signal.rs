use std::sync::LazyLock;

use tokio_util::sync::CancellationToken;

/// Fires on the second signal that [`shutdown_signal`] saw.
static SECOND: LazyLock<CancellationToken> = LazyLock::new(CancellationToken::new);

/// Resolves on the first Ctrl-C or, on Unix, SIGTERM. A second one makes the workers that are
/// shutting down abort.
///
/// From the first call on, these signals no longer end the process by themselves.
pub async fn shutdown_signal() {
    one_signal().await;
    tracing::info!("shutting down; a second signal aborts");
    tokio::spawn(async {
        one_signal().await;
        tracing::warn!("second signal: aborting");
        SECOND.cancel();
    });
}

/// Waits for the signal to abort.
pub(super) async fn second_signal() {
    SECOND.cancelled().await;
}

#[cfg(unix)]
async fn one_signal() {
    use tokio::signal::unix::{SignalKind, signal};

    // Without a handler for SIGTERM there is still Ctrl-C.
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = terminate.recv() => {}
            () = ctrl_c() => {}
        },
        Err(error) => {
            tracing::error!(%error, "cannot listen for SIGTERM");
            ctrl_c().await;
        }
    }
}

#[cfg(not(unix))]
async fn one_signal() {
    ctrl_c().await;
}

async fn ctrl_c() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        // A worker that cannot be told to stop is better than one that stops at its start.
        tracing::error!(%error, "cannot listen for Ctrl-C");
        std::future::pending::<()>().await;
    }
}
