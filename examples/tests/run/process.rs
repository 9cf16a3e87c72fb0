//! Starting an example and listening to it.

use std::{
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    io::{AsyncBufRead, Lines},
    process::Command,
    time::timeout,
};

pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// An example, started where no `goqueue.toml` lies.
pub(super) fn example(name: &str) -> Command {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().unwrap().parent().unwrap().join("examples");
    let program = built
        .join(name)
        .with_extension(std::env::consts::EXE_EXTENSION);
    assert!(
        program.exists(),
        "{} is not there: `cargo test` builds it, `cargo test --test run` alone does not",
        program.display()
    );
    let mut command = Command::new(program);
    command
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .env("NO_COLOR", "1")
        .env_remove("GOQUEUE_DRIVER")
        .env_remove("GOQUEUE_CONFIG")
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

pub(super) async fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = timeout(PATIENCE, command.output())
        .await
        .expect("the example did not end")
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

pub(super) fn folder(name: &str, files: &[(&str, &[u8])]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    for (name, content) in files {
        std::fs::write(folder.join(name), content).unwrap();
    }
    folder
}

/// Reads lines until one has `text`.
pub(super) async fn wait_for<R>(lines: &mut Lines<R>, text: &str) -> String
where
    R: AsyncBufRead + Unpin,
{
    let found = async {
        let mut seen = String::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains(text) {
                return line;
            }
            seen.push_str(&line);
            seen.push('\n');
        }
        panic!("`{text}` was not said:\n{seen}");
    };
    timeout(PATIENCE, found)
        .await
        .unwrap_or_else(|_| panic!("`{text}` was not said in time"))
}

pub(super) fn signal(child: &tokio::process::Child, signal: Signal) {
    let id = child.id().unwrap().try_into().unwrap();
    kill(Pid::from_raw(id), signal).unwrap();
}
