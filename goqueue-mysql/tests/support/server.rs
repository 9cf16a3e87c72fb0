use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use goqueue_conformance::server::{PrivateServer, Proxy};
use goqueue_mysql::sqlx::{ConnectOptions, Connection, mysql::MySqlConnectOptions};

use super::Kind;

const PATIENCE: Duration = Duration::from_secs(60);

/// A line to a server on which every transaction can be lost.
pub async fn line_to(server: impl Into<String>) -> Proxy {
    Proxy::to(server, b"COMMIT;").await
}

/// A MariaDB or MySQL of one test alone. Killed and cleared away when it is dropped.
pub struct Server {
    process: PrivateServer,
    kind: Kind,
    args: Vec<String>,
}

impl Server {
    pub async fn start() -> Self {
        Self::with(&[]).await
    }

    /// With more arguments of the server.
    pub async fn with(args: &[&str]) -> Self {
        let process = PrivateServer::new("db");
        let kind = Kind::of_this_binary();
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let mut server = Self {
            process,
            kind,
            args,
        };
        server.make_database();
        server.resume().await;
        server
    }

    fn make_database(&self) {
        let template = self.kind.program().with_file_name("data");
        let mut command = match self.kind {
            // Copying an empty database is quicker than making one.
            Kind::Mysql if template.is_dir() => {
                let mut copy = Command::new("cp");
                copy.arg("-r").arg(template).arg(self.data());
                copy
            }
            Kind::Mysql => {
                let mut make = self.command(&self.kind.program());
                make.arg("--initialize-insecure");
                make
            }
            Kind::MariaDb => {
                let mut make = self.command(Path::new("mariadb-install-db"));
                make.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
                make
            }
        };
        let hint = self.kind.hint();
        let made = command
            .output()
            .unwrap_or_else(|error| panic!("{error}: {hint}"));
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{said}");
    }

    fn data(&self) -> PathBuf {
        self.process.dir().join("data")
    }

    fn command(&self, program: &Path) -> Command {
        let tmp = self.process.dir().join("tmp");
        std::fs::create_dir_all(&tmp).unwrap();
        let mut command = Command::new(program);
        command
            .arg("--no-defaults")
            .arg(format!("--datadir={}", self.data().display()))
            .arg(format!("--tmpdir={}", tmp.display()));
        // Root has to say that it means it.
        if std::env::var_os("USER").is_none_or(|user| user == "root") {
            command.arg("--user=root");
        }
        command
    }

    pub fn url(&self) -> String {
        format!("mysql://root@127.0.0.1:{}", self.port())
    }

    pub fn port(&self) -> u16 {
        self.process.port()
    }

    pub fn dir(&self) -> &Path {
        self.process.dir()
    }

    pub fn socket(&self) -> PathBuf {
        self.process.dir().join("s")
    }

    /// Starts it on what it had stored, and waits until it serves.
    pub async fn resume(&mut self) {
        let pid = self.process.dir().join("pid");
        let mut command = self.command(&self.kind.program());
        command
            .arg(format!("--port={}", self.port()))
            .arg("--bind-address=127.0.0.1")
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--pid-file={}", pid.display()))
            .arg("--innodb-buffer-pool-size=64M")
            .args(self.kind.args())
            .args(&self.args);
        self.process.launch(&mut command);
        let options: MySqlConnectOptions = format!("{}/mysql", self.url()).parse().unwrap();
        let serves = || serves(options.clone());
        self.process.until(PATIENCE, serves).await;
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
}

async fn serves(options: MySqlConnectOptions) -> bool {
    match options.connect().await {
        Ok(connection) => connection.close().await.is_ok(),
        Err(_) => false,
    }
}
