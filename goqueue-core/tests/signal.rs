//! A signal that comes before anybody waits for it.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use goqueue_core::shutdown_signal;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::time::{sleep, timeout};

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_between_the_call_and_the_first_poll_is_not_missed() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        // Without a listener this would end the process.
        let told = shutdown_signal();
        kill(Pid::this(), signal).unwrap();
        sleep(Duration::from_millis(50)).await;
        timeout(Duration::from_secs(5), told).await.unwrap();
    }
    let quiet = timeout(Duration::from_millis(200), shutdown_signal()).await;
    assert!(quiet.is_err(), "nobody has sent a third");
}
