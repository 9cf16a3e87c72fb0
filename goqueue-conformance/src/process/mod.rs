//! Real processes that can be killed: the test binary, run again as a child.
//!
//! [`suite!`](crate::suite) puts one more test beside the cases, `child_entry`. Run as a child it
//! becomes the program that the environment names; run as a test it checks that this works.

mod entry;
mod programs;

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Write},
    process::{Child as Process, ChildStdin, Command, ExitStatus, Stdio},
    time::Duration,
};

use tokio::{sync::mpsc, time::timeout};

use crate::check::promise;
pub use entry::child_entry;
pub(crate) use programs::Program;

/// Names the suite and the program; see [`Program`].
const CHILD: &str = "GOQUEUE_TEST_CHILD";
/// The program's arguments, a JSON object of texts.
const ARGUMENTS: &str = "GOQUEUE_TEST_CHILD_ARGUMENTS";
/// What the lines that a child says begin with; the rest of its output is the test framework's.
const MARK: &str = "goqueue-child: ";

/// A child process. Killed and reaped when it is dropped; should this process be killed itself, the
/// child sees the end of its standard input and leaves.
#[derive(Debug)]
pub(crate) struct Child {
    process: Process,
    input: ChildStdin,
    lines: mpsc::UnboundedReceiver<String>,
    heard: Vec<String>,
}

/// What a child was started with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arguments(BTreeMap<String, String>);

impl Arguments {
    pub(crate) fn with(mut self, name: &str, value: &impl ToString) -> Self {
        self.0.insert(name.into(), value.to_string());
        self
    }

    fn get(&self, name: &str) -> &str {
        self.0
            .get(name)
            .unwrap_or_else(|| panic!("the child was given no `{name}`"))
    }
}

impl Child {
    /// Starts `program` in the suite of harness `suite`.
    pub(crate) fn start(suite: &str, program: Program, arguments: &Arguments) -> Self {
        let binary = std::env::current_exe().expect("the test binary knows its path");
        let arguments = serde_json::to_string(&arguments.0).expect("texts encode");
        let mut process = Command::new(binary)
            .args(["child_entry", "--nocapture", "--test-threads=1"])
            .env(CHILD, format!("{suite}:{}", program.as_str()))
            .env(ARGUMENTS, arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the test binary starts again");
        let input = process.stdin.take().expect("its input is a pipe");
        let output = process.stdout.take().expect("its output is a pipe");
        let (sender, lines) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Some(said) = line.strip_prefix(MARK) {
                    let _ = sender.send(said.to_owned());
                }
            }
        });
        Self {
            process,
            input,
            lines,
            heard: Vec::new(),
        }
    }

    /// Waits for a line that begins with `start`, and answers the rest of it.
    ///
    /// Needs a runtime whose clock is not paused.
    pub(crate) async fn hear(&mut self, start: &str, within: Duration) -> String {
        match self.listen(start, within).await {
            Some(rest) => rest,
            None => panic!(
                "expected: within {within:?}, the child says `{start}…`\nhappened: it said {:?}",
                self.heard
            ),
        }
    }

    /// The same, but answers `None` when no such line comes.
    pub(crate) async fn listen(&mut self, start: &str, within: Duration) -> Option<String> {
        let heard = &mut self.heard;
        let lines = &mut self.lines;
        let search = async {
            while let Some(line) = lines.recv().await {
                heard.push(line.clone());
                if let Some(rest) = line.strip_prefix(start) {
                    return Some(rest.trim().to_owned());
                }
            }
            None
        };
        timeout(within, search).await.ok().flatten()
    }

    /// Says a line to it.
    pub(crate) fn tell(&mut self, line: &str) {
        let _ = writeln!(self.input, "{line}").and_then(|()| self.input.flush());
    }

    /// SIGKILL, and waits until it is gone.
    pub(crate) fn kill(&mut self) -> ExitStatus {
        // An error means that it has ended already.
        let _ = self.process.kill();
        self.process
            .wait()
            .expect("a killed child can be waited for")
    }
}

impl Child {
    /// SIGSTOP, and waits until it stands still. It knows nothing of it.
    pub(crate) fn freeze(&self) {
        use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

        self.signal(nix::sys::signal::Signal::SIGSTOP);
        let status = waitpid(self.pid(), Some(WaitPidFlag::WUNTRACED));
        promise!(
            matches!(status, Ok(WaitStatus::Stopped(..))),
            "a child that is frozen stands still";
            "{status:?}"
        );
    }

    /// SIGCONT
    pub(crate) fn thaw(&self) {
        self.signal(nix::sys::signal::Signal::SIGCONT);
    }

    /// SIGTERM
    pub(crate) fn terminate(&self) {
        self.signal(nix::sys::signal::Signal::SIGTERM);
    }

    fn signal(&self, signal: nix::sys::signal::Signal) {
        nix::sys::signal::kill(self.pid(), signal)
            .unwrap_or_else(|error| panic!("{signal} was not delivered: {error}"));
    }

    /// Whether the system still knows it.
    fn exists(&self) -> bool {
        nix::sys::signal::kill(self.pid(), None).is_ok()
    }

    fn pid(&self) -> nix::unistd::Pid {
        let id = i32::try_from(self.process.id()).expect("process ids are small");
        nix::unistd::Pid::from_raw(id)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Says a line to the parent.
pub(crate) fn say(line: &str) {
    // The framework may be in the middle of a line.
    let mut output = io::stdout().lock();
    let _ = write!(output, "\n{MARK}{line}\n").and_then(|()| output.flush());
}
