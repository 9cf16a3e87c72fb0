//! The binary: services around a command, whatever happens to the two.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use common::{XTASK, assert_closed, assert_gone, fresh_dir};
use nix::sys::signal::{Signal, kill, raise};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{sleep, timeout};
use xtask::services::Service;
use xtask::session::with_services;

/// Says who it is and where the service is, then stays until it is told to end, as does a process
/// it has started, which cannot be told.
const LONG_RUN: &str = "trap 'echo told by SIGINT; exit' INT
    trap 'echo told by SIGTERM; exit' TERM
    (trap '' INT TERM; exec sleep 60) &
    echo $$; echo $!; echo $GOQUEUE_TEST_ECHO_URL; wait";

fn with_echo(test: &str, script: &str) -> (Command, PathBuf) {
    let target = fresh_dir(test);
    let mut command = Command::new(XTASK);
    command
        .args(["with", "echo", "--", "sh", "-c", script])
        .env("CARGO_TARGET_DIR", &target);
    command
        .env_remove("GOQUEUE_TEST_ECHO_URL")
        .kill_on_drop(true);
    (command, target.join("services/echo"))
}

async fn output(command: &mut Command) -> (Output, String) {
    let output = command.output().await.unwrap();
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    (output, stderr)
}

fn kept_logs(services: &Path) -> Vec<PathBuf> {
    let runs = std::fs::read_dir(services).unwrap();
    runs.map(|run| run.unwrap().path().join("echo.log"))
        .collect()
}

#[tokio::test]
async fn the_command_gets_the_url_and_success_leaves_nothing() {
    let (mut command, services) = with_echo("success", "echo $GOQUEUE_TEST_ECHO_URL");
    let (output, stderr) = output(&mut command).await;
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let url = String::from_utf8(output.stdout).unwrap();
    assert!(url.starts_with("tcp://127.0.0.1:"), "{url}");
    assert_closed(url.trim()).await;
    assert!(stderr.contains("xtask: sh passed in "), "{stderr}");
    assert!(
        stderr.contains(&format!("echo: started for this run at {url}")),
        "{stderr}"
    );
    assert!(!stderr.contains("log kept"), "{stderr}");
    assert!(kept_logs(&services).is_empty());
}

#[tokio::test]
async fn failure_gives_the_commands_code_and_keeps_the_log() {
    let (mut command, services) = with_echo("failure", "exit 7");
    let (output, stderr) = output(&mut command).await;
    assert_eq!(output.status.code(), Some(7), "{stderr}");
    assert!(stderr.contains("xtask: sh FAILED after "), "{stderr}");
    let logs = kept_logs(&services);
    assert_eq!(logs.len(), 1);
    assert!(
        stderr.contains(&format!("log kept: {}", logs[0].display())),
        "{stderr}"
    );
    assert!(
        std::fs::read_to_string(&logs[0])
            .unwrap()
            .starts_with("echo listens on")
    );
}

#[tokio::test]
async fn a_given_url_is_used_and_not_shown() {
    let url = "tcp://user:secret@127.0.0.1:1";
    let (mut command, services) = with_echo("given", "echo $GOQUEUE_TEST_ECHO_URL");
    let (output, stderr) = output(command.env("GOQUEUE_TEST_ECHO_URL", url)).await;
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), url);
    assert!(
        stderr.contains("echo: the one of GOQUEUE_TEST_ECHO_URL"),
        "{stderr}"
    );
    assert!(!stderr.contains("secret"), "{stderr}");
    assert!(!services.exists());
}

#[tokio::test]
async fn an_empty_url_is_no_url() {
    let (mut command, _) = with_echo("empty", "echo $GOQUEUE_TEST_ECHO_URL");
    let (output, stderr) = output(command.env("GOQUEUE_TEST_ECHO_URL", "")).await;
    assert!(output.stdout.starts_with(b"tcp://127.0.0.1:"), "{stderr}");
}

#[tokio::test]
async fn an_unknown_service_or_program_is_named() {
    let mut command = Command::new(XTASK);
    let (unknown, stderr) = output(command.args(["with", "rabbit", "--", "true"])).await;
    assert_eq!(unknown.status.code(), Some(1));
    let named = "xtask: no service is called `rabbit`; there are: redis, ";
    assert!(
        stderr.starts_with(named) && stderr.contains(", echo"),
        "{stderr}"
    );

    let mut command = Command::new(XTASK);
    command.env("CARGO_TARGET_DIR", fresh_dir("no-program"));
    let (output, stderr) = output(command.args(["with", "echo", "--", "/no/program"])).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr.contains("/no/program DID NOT RUN: cannot run the command"),
        "{stderr}"
    );
}

/// A session that runs [`LONG_RUN`].
struct LongRun {
    xtask: Child,
    stdout: Lines<BufReader<ChildStdout>>,
    command: u32,
    grandchild: u32,
    url: String,
}

impl LongRun {
    async fn start(test: &str) -> Self {
        let (mut command, _) = with_echo(test, LONG_RUN);
        let mut xtask = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(xtask.stdout.take().unwrap()).lines();
        let command = stdout.next_line().await.unwrap().unwrap().parse().unwrap();
        let grandchild = stdout.next_line().await.unwrap().unwrap().parse().unwrap();
        let url = stdout.next_line().await.unwrap().unwrap();
        Self {
            xtask,
            stdout,
            command,
            grandchild,
            url,
        }
    }

    async fn end_with(mut self, signal: Signal, passed_on: Signal) -> Output {
        let xtask = Pid::from_raw(i32::try_from(self.xtask.id().unwrap()).unwrap());
        kill(xtask, signal).unwrap();
        // Ends only once everybody who has the standard error is gone.
        let output = timeout(Duration::from_secs(10), self.xtask.wait_with_output());
        let output = output.await.unwrap().unwrap();
        let told = self.stdout.next_line().await.unwrap();
        assert_eq!(told, Some(format!("told by {passed_on}")));
        assert_gone(self.command).await;
        assert_gone(self.grandchild).await;
        assert_closed(&self.url).await;
        output
    }
}

#[tokio::test]
async fn ctrl_c_and_sigterm_leave_no_child() {
    for (signal, name, code) in [
        (Signal::SIGINT, "SIGINT", 130),
        (Signal::SIGTERM, "SIGTERM", 143),
    ] {
        let output = LongRun::start(name).await.end_with(signal, signal).await;
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(
            stderr.contains(&format!("(interrupted by {name})")),
            "{stderr}"
        );
        assert!(stderr.contains("log kept: "), "{stderr}");
    }
}

#[tokio::test]
async fn not_even_sigkill_leaves_a_child() {
    let output = LongRun::start("sigkill")
        .await
        .end_with(Signal::SIGKILL, Signal::SIGTERM)
        .await;
    assert!(!output.status.success());
}

#[tokio::test]
async fn an_interrupt_while_a_service_starts_ends_the_run() {
    let root = fresh_dir("early");
    let stuck = Service::new("stuck", "sh", "GOQUEUE_TEST_STUCK_URL", "").args([
        "-c",
        r#"echo $$ > "$1/../pid"; sleep 60"#,
        "stuck",
        "{dir}",
    ]);
    let session = with_services("early", vec![stuck], &root, |_| Command::new("true"));
    let pid_file = root
        .join("stuck")
        .join(std::process::id().to_string())
        .join("pid");
    let interrupt = async {
        while !std::fs::read_to_string(&pid_file).is_ok_and(|pid| pid.ends_with('\n')) {
            sleep(Duration::from_millis(10)).await;
        }
        raise(Signal::SIGINT).unwrap();
    };
    let (report, ()) = tokio::join!(session, interrupt);
    assert_eq!(report.unwrap().code(), 130);
    let pid = std::fs::read_to_string(&pid_file).unwrap();
    assert_gone(pid.trim().parse().unwrap()).await;
}
