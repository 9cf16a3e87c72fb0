use std::{fs, process::Command};

use async_trait::async_trait;
use goqueue_conformance::server::PrivateServer;

use super::{Backend, until_it_serves};

/// A MariaDB, which by default answers no commit before it is on the disk.
#[derive(Debug)]
pub(super) struct Mysql(PrivateServer);

impl Mysql {
    pub(super) async fn start() -> Self {
        let mut mysql = Self(PrivateServer::new("chaos-db"));
        // It also makes the empty database `test`, which is the one that is used.
        let made = mysql
            .command("mariadb-install-db")
            .arg("--auth-root-authentication-method=normal")
            .output()
            .expect("mariadb-install-db starts; `apt-get install mariadb-server` brings it");
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "no database was made: {said}");
        mysql.resume().await;
        mysql
    }

    fn command(&self, program: &str) -> Command {
        let dir = self.0.dir();
        let tmp = dir.join("tmp");
        fs::create_dir_all(&tmp).expect("a directory can be made");
        let mut command = Command::new(program);
        command
            .arg("--no-defaults")
            .arg(format!("--datadir={}", dir.join("data").display()))
            .arg(format!("--tmpdir={}", tmp.display()));
        if nix::unistd::geteuid().is_root() {
            command.arg("--user=root");
        }
        command
    }
}

#[async_trait(?Send)]
impl Backend for Mysql {
    fn name(&self) -> &'static str {
        "mysql"
    }

    fn call(&self) -> &'static [u8] {
        b"COMMIT"
    }

    fn config(&self, port: u16) -> String {
        format!(
            "driver = \"mysql://root@127.0.0.1:{port}/test\"\n[mysql]\nanswer_timeout = \"2s\"\n\
             acquire_timeout = \"1s\""
        )
    }

    fn server(&mut self) -> &mut PrivateServer {
        &mut self.0
    }

    async fn resume(&mut self) {
        let config = self.config(self.0.port());
        let (port, dir) = (self.0.port(), self.0.dir().to_owned());
        let mut command = self.command("mariadbd");
        command
            .arg(format!("--port={port}"))
            .arg("--bind-address=127.0.0.1")
            .arg(format!("--socket={}", dir.join("s").display()))
            .arg(format!("--pid-file={}", dir.join("pid").display()))
            .arg("--innodb-buffer-pool-size=64M");
        self.0.launch(&mut command);
        until_it_serves(&mut self.0, &config).await;
    }
}
