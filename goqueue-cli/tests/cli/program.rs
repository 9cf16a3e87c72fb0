//! Running the command.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

/// The program, where no settings but those given reach it.
pub(super) fn goqueue() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goqueue"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GOQUEUE_") {
            command.env_remove(name);
        }
    }
    command
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .env_remove("RUST_LOG")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null());
    command
}

/// What it answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

pub(super) fn run(command: &mut Command) -> Answer {
    let output = command.output().unwrap();
    Answer {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Answer {
    /// The standard output of a command that had to succeed.
    #[track_caller]
    pub(super) fn out(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// The standard error of a command that had to end so.
    #[track_caller]
    pub(super) fn refused(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        self.stderr
    }

    #[track_caller]
    pub(super) fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.out()).unwrap()
    }
}

/// A file of its own for a test.
pub(super) fn file(name: &str, content: &str) -> PathBuf {
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let name = format!("cli-{}-{number}-{name}", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    path
}
