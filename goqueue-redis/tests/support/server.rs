use std::{path::Path, process::Command, time::Duration};

use goqueue_conformance::server::{PrivateServer, Proxy};
use redis::{Cmd, Value, aio::MultiplexedConnection};

const PATIENCE: Duration = Duration::from_secs(30);

/// Whether the tests of this binary are those on Valkey.
fn is_valkey() -> bool {
    module_path!().starts_with("valkey::")
}

/// The server that the tests of this binary share.
pub fn shared_url() -> String {
    let variable = if is_valkey() {
        "GOQUEUE_TEST_VALKEY_URL"
    } else {
        "GOQUEUE_TEST_REDIS_URL"
    };
    url_of(variable)
}

pub fn url_of(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: `cargo xtask test` starts the server and sets it")
    })
}

fn program() -> String {
    if is_valkey() {
        std::env::var("GOQUEUE_TEST_VALKEY_SERVER").unwrap_or_else(|_| "valkey-server".into())
    } else {
        "redis-server".into()
    }
}

/// A line to a server of this machine on which every script call can be lost.
pub async fn line_to(port: u16) -> Proxy {
    Proxy::to(format!("127.0.0.1:{port}"), b"EVALSHA").await
}

pub fn url_through(proxy: &Proxy) -> String {
    url_on(proxy.port())
}

/// A `redis-server` of this test alone, with an append-only file. Killed and cleared away when it is
/// dropped.
pub struct Server {
    process: PrivateServer,
    pub port: u16,
    pub(super) args: Vec<String>,
}

impl Server {
    pub async fn start() -> Self {
        Self::with(&[]).await
    }

    /// With more arguments of `redis-server`.
    pub async fn with(args: &[&str]) -> Self {
        let process = PrivateServer::new("redis");
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let port = process.port();
        let mut server = Self {
            process,
            port,
            args,
        };
        server.resume().await;
        server
    }

    pub fn url(&self) -> String {
        url_on(self.port)
    }

    pub fn dir(&self) -> &Path {
        self.process.dir()
    }

    /// Starts it on what it had stored, and waits until it serves.
    pub async fn resume(&mut self) {
        self.launch();
        let url = self.url();
        let serves = || serves(url.clone());
        self.process.until(PATIENCE, serves).await;
    }

    /// Starts it on what it had stored.
    pub fn launch(&mut self) {
        let mut command = Command::new(program());
        command
            .args(["--port", &self.port.to_string()])
            .args(["--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", "yes", "--appendfsync", "always", "--dir"])
            .arg(self.process.dir())
            .args(&self.args);
        self.process.launch(&mut command);
    }

    /// Kills it, as a crash would.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    pub fn freeze(&self) {
        self.process.freeze();
    }

    pub fn thaw(&self) {
        self.process.thaw();
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
        let answer = try_raw(&self.url())
            .await
            .unwrap()
            .send_packed_command(cmd)
            .await;
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

fn url_on(port: u16) -> String {
    format!("redis://127.0.0.1:{port}/0")
}

async fn serves(url: String) -> bool {
    match try_raw(&url).await {
        Ok(mut raw) => raw.send_packed_command(&redis::cmd("PING")).await.is_ok(),
        Err(error) => is_answer(&error),
    }
}

async fn try_raw(url: &str) -> redis::RedisResult<MultiplexedConnection> {
    let client = redis::Client::open(url)?;
    let config = redis::AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
    client
        .get_multiplexed_async_connection_with_config(&config)
        .await
}

fn is_answer(error: &redis::RedisError) -> bool {
    ["NOAUTH", "WRONGPASS", "Authentication"]
        .iter()
        .any(|text| error.to_string().contains(text))
}
