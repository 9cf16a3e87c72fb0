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

use goqueue_mysql::sqlx::{ConnectOptions, Connection, mysql::MySqlConnectOptions};
use tokio::time::{Instant, sleep};

static HANDED_OUT: Mutex<Option<HashSet<u16>>> = Mutex::new(None);
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// A port that nobody listens on, and that this process has not been given before.
fn free_port() -> u16 {
    let mut handed_out = HANDED_OUT.lock().unwrap_or_else(PoisonError::into_inner);
    let handed_out = handed_out.get_or_insert_default();
    loop {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        if handed_out.insert(port) {
            return port;
        }
    }
}

/// A MariaDB of one test alone. Killed and cleared away when it is dropped.
pub struct Server {
    child: Option<Child>,
    port: u16,
    dir: PathBuf,
    args: Vec<String>,
}

impl Server {
    pub async fn start() -> Self {
        Self::with(&[]).await
    }

    /// With more arguments of `mariadbd`.
    pub async fn with(args: &[&str]) -> Self {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        // Paths of sockets have to be short.
        let dir = std::env::temp_dir().join(format!("gq-db-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let mut server = Self {
            child: None,
            port: free_port(),
            dir,
            args,
        };
        let made = server
            .command("mariadb-install-db")
            .args(["--auth-root-authentication-method=normal", "--skip-test-db"])
            .output()
            .expect("mariadb-install-db starts; `apt-get install mariadb-server` brings it");
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        server.resume().await;
        server
    }

    fn command(&self, program: &str) -> Command {
        let tmp = self.dir.join("tmp");
        std::fs::create_dir_all(&tmp).unwrap();
        let mut command = Command::new(program);
        command
            .arg("--no-defaults")
            .arg(format!("--datadir={}", self.dir.join("data").display()))
            .arg(format!("--tmpdir={}", tmp.display()));
        // Root has to say that it means it.
        if std::env::var_os("USER").is_none_or(|user| user == "root") {
            command.arg("--user=root");
        }
        command
    }

    pub fn url(&self) -> String {
        format!("mysql://root@127.0.0.1:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.join("s")
    }

    /// Starts it on what it had stored, and waits until it serves.
    pub async fn resume(&mut self) {
        assert!(self.child.is_none(), "it runs");
        let log = std::fs::File::create(self.dir.join("log")).unwrap();
        let child = self
            .command("mariadbd")
            .arg(format!("--port={}", self.port))
            .arg("--bind-address=127.0.0.1")
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--pid-file={}", self.dir.join("pid").display()))
            .arg("--innodb-buffer-pool-size=64M")
            .args(&self.args)
            .stdout(Stdio::from(log.try_clone().unwrap()))
            .stderr(Stdio::from(log))
            .spawn()
            .expect("mariadbd starts; `apt-get install mariadb-server` brings it");
        self.child = Some(child);
        let patience = Instant::now() + Duration::from_secs(60);
        let options: MySqlConnectOptions = format!("{}/mysql", self.url()).parse().unwrap();
        loop {
            if let Ok(connection) = options.connect().await {
                let _ = connection.close().await;
                return;
            }
            if Instant::now() > patience {
                let log = std::fs::read_to_string(self.dir.join("log")).unwrap_or_default();
                panic!("mariadbd does not serve:\n{log}");
            }
            sleep(Duration::from_millis(50)).await;
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
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
