use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::time::{Instant, sleep};

use super::free_port;

const PROBE_EVERY: Duration = Duration::from_millis(25);

/// A server of one test alone, with a port and a directory of its own. Killed and cleared away when
/// it is dropped.
///
/// How it is started and when it serves is for the driver's tests to say:
///
/// ```no_run
/// # use std::{process::Command, time::Duration};
/// use goqueue_conformance::server::PrivateServer;
///
/// # async fn example() {
/// let mut server = PrivateServer::new("redis");
/// let mut command = Command::new("redis-server");
/// command.args(["--port", &server.port().to_string()]);
/// server.launch(&mut command);
/// let address = ("127.0.0.1", server.port());
/// let is_up = || async move { tokio::net::TcpStream::connect(address).await.is_ok() };
/// server.until(Duration::from_secs(20), is_up).await;
/// # }
/// ```
#[derive(Debug)]
pub struct PrivateServer {
    child: Option<Child>,
    port: u16,
    dir: PathBuf,
}

impl PrivateServer {
    /// A port and an empty directory; nothing runs yet. `name` becomes part of the directory's name.
    ///
    /// # Panics
    /// When the directory cannot be made.
    #[must_use]
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let (pid, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // Short, for the system limits the path of a socket in it to about 100 bytes.
        let dir = std::env::temp_dir().join(format!("gq-{name}-{pid}-{count}"));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("a directory can be made");
        Self {
            child: None,
            port: free_port(),
            dir,
        }
    }

    /// The port that is its own.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The directory that is its own.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Starts the program, which then writes to a log in the directory.
    ///
    /// # Panics
    /// When it runs already, or cannot be started.
    pub fn launch(&mut self, command: &mut Command) {
        assert!(self.child.is_none(), "it runs already");
        let log = File::create(self.log()).expect("a log can be made");
        let also_log = log.try_clone().expect("a log can be shared");
        let started = command
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(also_log)
            .spawn();
        let program = command.get_program().display();
        match started {
            Ok(child) => self.child = Some(child),
            Err(error) => panic!("`{program}` does not start: {error}"),
        }
    }

    /// Waits until it serves.
    ///
    /// # Panics
    /// With its log, when it ends instead or takes longer than `patience`.
    pub async fn until<F>(&mut self, patience: Duration, serves: impl Fn() -> F)
    where
        F: Future<Output = bool>,
    {
        let since = Instant::now();
        while !serves().await {
            let ended = self.child.as_mut().map(Child::try_wait);
            let is_over = since.elapsed() > patience || !matches!(ended, Some(Ok(None)));
            let log = || fs::read_to_string(self.log()).unwrap_or_default();
            assert!(!is_over, "a server does not serve ({ended:?}):\n{}", log());
            sleep(PROBE_EVERY).await;
        }
    }

    /// SIGKILL, as a crash would, and waits until it is gone. Its data stays.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // An error means that it has ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// SIGSTOP: it keeps its connections and answers nothing.
    ///
    /// # Panics
    /// When it does not run.
    pub fn freeze(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// SIGCONT
    ///
    /// # Panics
    /// When it does not run.
    pub fn thaw(&self) {
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("it runs");
        let id = i32::try_from(child.id()).expect("process ids are small");
        kill(Pid::from_raw(id), signal)
            .unwrap_or_else(|error| panic!("{signal} was not delivered: {error}"));
    }

    fn log(&self) -> PathBuf {
        self.dir.join("log")
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.dir);
    }
}
