use std::time::Duration;

use nix::unistd::geteuid;

use super::Folder;
use crate::services::{Probe, Service};

/// A MySQL without databases of its own, and a user `root` without a password.
#[must_use]
pub fn mysql() -> Service {
    let current = Folder::of_the_user().current();
    let (program, empty) = (current.join("mysqld"), current.join("data"));
    let user: &[&str] = if geteuid().is_root() {
        &["--user=root"]
    } else {
        &[]
    };
    Service::new(
        "mysql",
        program.clone(),
        "GOQUEUE_TEST_MYSQL9_URL",
        "mysql://root@127.0.0.1:{port}",
    )
    // Copying an empty database is quicker than making one.
    .setup("cp", ["-r", &format!("{}/.", empty.display()), "{dir}"])
    .setup("mkdir", ["{dir}/../tmp"])
    .args(["--no-defaults", "--datadir={dir}", "--tmpdir={dir}/../tmp"])
    .args(user.iter().copied())
    .args(["--port={port}", "--bind-address=127.0.0.1"])
    // Relative to the data, for the system limits the path of a socket to about 100 bytes.
    .args(["--socket=s.sock", "--pid-file=pid"])
    .args(["--mysqlx=OFF", "--secure-file-priv=NULL"])
    .args(["--skip-log-bin", "--performance-schema=OFF"])
    .args(["--innodb-redo-log-capacity=256M"])
    // What is committed outlives the process all the same, though not the machine.
    .args(["--innodb-flush-log-at-trx-commit=2"])
    .ready(
        Probe::reply("", "caching_sha2_password"),
        Duration::from_secs(60),
    )
    .stop_within(Duration::from_secs(20))
    .also("GOQUEUE_TEST_MYSQLD", &program.display().to_string())
    .from_unstable("MySQL", "mysql9_")
    .needed_by("goqueue-mysql")
}

/// A Valkey that writes every command to its append-only file.
#[must_use]
pub fn valkey() -> Service {
    let program = Folder::of_the_user().current().join("valkey-server");
    Service::new(
        "valkey",
        program.clone(),
        "GOQUEUE_TEST_VALKEY_URL",
        "redis://127.0.0.1:{port}/0",
    )
    .args(["--port", "{port}", "--bind", "127.0.0.1"])
    .args(["--save", "", "--appendonly", "yes", "--dir", "{dir}"])
    .ready(Probe::reply("PING\r\n", "+PONG"), Duration::from_secs(20))
    .also("GOQUEUE_TEST_VALKEY_SERVER", &program.display().to_string())
    .from_unstable("Valkey", "valkey_")
    .needed_by("goqueue-redis")
}
