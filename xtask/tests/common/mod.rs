//! What the tests of the supervisor and of the binary share.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::kill;
use nix::unistd::Pid;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

/// The program under test.
pub(crate) const XTASK: &str = env!("CARGO_BIN_EXE_xtask");

/// An empty directory of the test's own.
pub(crate) fn fresh_dir(test: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    match fs::remove_dir_all(&dir) {
        Err(error) if error.kind() != ErrorKind::NotFound => panic!("{}: {error}", dir.display()),
        _ => {}
    }
    fs::create_dir_all(&dir).unwrap();
    dir
}

/// Waits until no process `pid` runs.
pub(crate) async fn assert_gone(pid: u32) {
    let started = Instant::now();
    let process = Pid::from_raw(i32::try_from(pid).unwrap());
    while kill(process, None).is_ok() && !is_zombie(pid) {
        assert!(
            started.elapsed() < Duration::from_secs(5),
            "process {pid} still runs"
        );
        sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until nobody listens at `url`.
pub(crate) async fn assert_closed(url: &str) {
    let address = url.rsplit('/').next().unwrap();
    let started = Instant::now();
    while TcpStream::connect(address).await.is_ok() {
        assert!(
            started.elapsed() < Duration::from_secs(5),
            "{url} still answers"
        );
        sleep(Duration::from_millis(10)).await;
    }
}

/// An orphan is waited for by the system's first process, which in a container may not do so.
fn is_zombie(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| rest.trim_start().starts_with('Z'))
}
