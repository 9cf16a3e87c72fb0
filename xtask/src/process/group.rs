use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::time::timeout;

const GUARD: &str = include_str!("guard.sh");

/// A child in a process group of its own, so that a terminal's Ctrl-C reaches it only through us,
/// and so that everything it starts can be ended with it.
///
/// Dropping it kills the group. The group is led by a small shell, which does the same when this
/// process itself is killed.
#[derive(Debug)]
pub struct Group {
    child: Child,
    guard: Child,
    id: Pid,
    ended: bool,
}

impl Group {
    /// Starts `command`, which gets no standard input.
    ///
    /// # Errors
    ///
    /// What the operating system says: [`io::ErrorKind::NotFound`] when there is no such program.
    pub fn spawn(mut command: Command) -> io::Result<Self> {
        let guard = Command::new("sh")
            .args(["-c", GUARD])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let id = pid_of(&guard).ok_or_else(|| io::Error::other("the guard ended at once"))?;
        command
            .stdin(Stdio::null())
            .process_group(id.as_raw())
            .kill_on_drop(true);
        Ok(Self {
            child: command.spawn()?,
            guard,
            id,
            ended: false,
        })
    }

    /// The process id of the child, or `None` once it has been waited for.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits until the child has ended. Others of its group may still run.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// How the child ended, or `None` while it runs.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Sends `signal` to every process of the group.
    pub fn signal(&self, signal: Signal) {
        if !self.ended {
            // The only failure left is a group that is already gone, which is what was wanted.
            let _ = killpg(self.id, signal);
        }
    }

    /// Asks the child to end with SIGTERM, and kills the whole group once it has ended or `grace`
    /// has passed. Returns how the child ended.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    pub async fn stop(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        if let Some(child) = pid_of(&self.child) {
            // It may have ended already, and is then waited for below.
            let _ = kill(child, Signal::SIGTERM);
        }
        let ended = timeout(grace, self.child.wait()).await;
        self.signal(Signal::SIGKILL);
        let status = match ended {
            Ok(status) => status?,
            Err(_) => self.child.wait().await?,
        };
        self.guard.wait().await?;
        self.ended = true;
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}

fn pid_of(child: &Child) -> Option<Pid> {
    child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .map(Pid::from_raw)
}
