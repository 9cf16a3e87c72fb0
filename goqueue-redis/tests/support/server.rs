use std::{
    collections::HashSet,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use redis::{Cmd, Value, aio::MultiplexedConnection};
use tokio::time::{Instant, sleep};

static HANDED_OUT: Mutex<Option<HashSet<u16>>> = Mutex::new(None);
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// A port that nobody listens on, and whose neighbour ten thousand above, which a node of a cluster
/// takes as well, exists.
pub fn free_port() -> u16 {
    let mut handed_out = HANDED_OUT.lock().unwrap_or_else(PoisonError::into_inner);
    let handed_out = handed_out.get_or_insert_default();
    loop {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        if port < 55_000 && handed_out.insert(port) {
            return port;
        }
    }
}

/// A `redis-server` of this test alone, with an append-only file. Killed and cleared away when it is
/// dropped.
pub struct Server {
    child: Option<Child>,
    pub port: u16,
    dir: PathBuf,
    pub(super) args: Vec<String>,
}

impl Server {
    pub async fn start() -> Self {
        Self::with(&[]).await
    }

    /// With more arguments of `redis-server`.
    pub async fn with(args: &[&str]) -> Self {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("redis-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let mut server = Self {
            child: None,
            port: free_port(),
            dir,
            args,
        };
        server.resume().await;
        server
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Starts it on what it had stored, and waits until it serves.
    pub async fn resume(&mut self) {
        assert!(self.child.is_none(), "it runs");
        let log = std::fs::File::create(self.dir.join("log")).unwrap();
        let child = Command::new("redis-server")
            .args([
                "--port",
                &self.port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
            ])
            .args(["--appendonly", "yes", "--appendfsync", "always", "--dir"])
            .arg(&self.dir)
            .args(&self.args)
            .stdout(Stdio::from(log.try_clone().unwrap()))
            .stderr(Stdio::from(log))
            .spawn()
            .expect("redis-server starts; `apt-get install redis-server` brings it");
        self.child = Some(child);
        let patience = Instant::now() + Duration::from_secs(20);
        loop {
            let is_serving = match self.try_raw().await {
                Ok(mut raw) => raw.send_packed_command(&redis::cmd("PING")).await.is_ok(),
                Err(error) => is_answer(&error),
            };
            if is_serving {
                return;
            }
            if Instant::now() > patience {
                let log = std::fs::read_to_string(self.dir.join("log")).unwrap_or_default();
                panic!("redis-server does not serve:\n{log}");
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Kills it, as a crash would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Sends it a signal by its short name.
    pub fn signal(&self, name: &str) {
        let id = self.child.as_ref().unwrap().id().to_string();
        assert!(
            Command::new("kill")
                .args([&format!("-{name}"), &id])
                .status()
                .unwrap()
                .success()
        );
    }

    async fn try_raw(&self) -> redis::RedisResult<MultiplexedConnection> {
        let client = redis::Client::open(self.url())?;
        let config =
            redis::AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(30)));
        client
            .get_multiplexed_async_connection_with_config(&config)
            .await
    }

    /// Sends a command of one line, past the driver.
    pub async fn ask(&self, line: &str) -> Value {
        self.run(
            redis::cmd(line.split(' ').next().unwrap())
                .arg(line.split(' ').skip(1).collect::<Vec<_>>()),
        )
        .await
    }

    pub async fn run(&self, cmd: &Cmd) -> Value {
        let answer = self.try_raw().await.unwrap().send_packed_command(cmd).await;
        answer.and_then(Value::extract_error).unwrap()
    }

    pub async fn text(&self, line: &str) -> String {
        match self.ask(line).await {
            Value::BulkString(bytes) => String::from_utf8(bytes).unwrap(),
            Value::SimpleString(text) => text,
            other => panic!("`{line}` answers {other:?}"),
        }
    }

    /// Every key there is, sorted, but for the notes of who waits, which go by themselves.
    pub async fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = redis::from_redis_value(self.ask("KEYS *").await).unwrap();
        keys.retain(|key| !key.ends_with(":waiting"));
        keys.sort();
        keys
    }

    /// A field of `INFO`.
    pub async fn info(&self, field: &str) -> i64 {
        let info = self.text("INFO everything").await;
        let line = info
            .lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        line.and_then(|value| value.trim().parse().ok())
            .unwrap_or_else(|| panic!("INFO has no number `{field}`"))
    }

    /// How often each command was called since the last `CONFIG RESETSTAT`.
    pub async fn calls(&self) -> Vec<(String, u64)> {
        let stats = self.text("INFO commandstats").await;
        let call = |line: &str| {
            let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            Some((name.to_owned(), rest.split_once(',')?.0.parse().ok()?))
        };
        stats.lines().filter_map(call).collect()
    }
}

fn is_answer(error: &redis::RedisError) -> bool {
    ["NOAUTH", "WRONGPASS", "Authentication"]
        .iter()
        .any(|text| error.to_string().contains(text))
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
