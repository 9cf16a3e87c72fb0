//! The services there are.

use std::path::Path;
use std::time::Duration;

use nix::unistd::geteuid;

use super::{Probe, Service, sqs, unstable};

/// Every service, `xtask` being the path of this program.
#[must_use]
pub fn all(xtask: &Path) -> Vec<Service> {
    let mut all = vec![redis(), redis_cluster(xtask), mariadb(), echo(xtask)];
    all.extend(unstable::all());
    all.extend(sqs::all(xtask));
    all
}

/// A Redis that writes every command to its append-only file, so that a test may restart it.
#[must_use]
pub fn redis() -> Service {
    Service::new(
        "redis",
        "redis-server",
        "GOQUEUE_TEST_REDIS_URL",
        "redis://127.0.0.1:{port}/0",
    )
    .args(["--port", "{port}", "--bind", "127.0.0.1"])
    .args(["--save", "", "--appendonly", "yes", "--dir", "{dir}"])
    .ready(Probe::reply("PING\r\n", "+PONG"), Duration::from_secs(20))
    .package("redis-server")
    .needed_by("goqueue-redis")
    .needed_by("goqueue-cli")
}

/// Three Redis servers that are one cluster. The URL names the first; clients learn the others.
#[must_use]
pub fn redis_cluster(xtask: &Path) -> Service {
    Service::new(
        "redis-cluster",
        xtask,
        "GOQUEUE_TEST_REDIS_CLUSTER_URL",
        "redis-cluster://127.0.0.1:{port}",
    )
    // Not to set anything up: so that a missing server is noticed, and installed, beforehand.
    .setup("redis-server", ["--version"])
    .args(["__redis-cluster", "--port", "{port}", "--dir", "{dir}"])
    .ready(
        Probe::reply("CLUSTER INFO\r\n", "cluster_state:ok"),
        Duration::from_secs(30),
    )
    .package("redis-server")
    .needed_by("goqueue-redis")
    .needed_by("goqueue-cli")
}

/// A MariaDB with an empty database `test`, and a user `root` without a password.
#[must_use]
pub fn mariadb() -> Service {
    // As root it refuses to start unless a user is named. Any other could not reach a target
    // directory below root's home.
    let user: &[&str] = if geteuid().is_root() {
        &["--user=root"]
    } else {
        &[]
    };
    // One that starts clears the leftovers of another out of a directory that they share.
    let temporary = "--tmpdir={dir}/../tmp";
    let defaults = ["--no-defaults", "--datadir={dir}", temporary];
    let install = [
        &defaults,
        user,
        &["--auth-root-authentication-method=normal"],
    ]
    .concat();
    Service::new(
        "mariadb",
        "mariadbd",
        "GOQUEUE_TEST_MYSQL_URL",
        "mysql://root@127.0.0.1:{port}/test",
    )
    .setup("mkdir", ["{dir}/../tmp"])
    .setup("mariadb-install-db", install)
    .args([&defaults, user].concat())
    // The socket is relative to the data, for the system limits its path to about 100 bytes.
    .args([
        "--port={port}",
        "--bind-address=127.0.0.1",
        "--socket=s.sock",
    ])
    // What is committed outlives the process all the same, though not the machine.
    .args(["--innodb-flush-log-at-trx-commit=2"])
    .ready(Probe::reply("", "MariaDB"), Duration::from_secs(60))
    .stop_within(Duration::from_secs(20))
    .package("mariadb-server")
    .needed_by("goqueue-mysql")
    .needed_by("goqueue-cli")
}

/// A server that answers with what it is sent. No crate needs it: the tests of this crate do.
#[must_use]
pub fn echo(xtask: &Path) -> Service {
    Service::new(
        "echo",
        xtask,
        "GOQUEUE_TEST_ECHO_URL",
        "tcp://127.0.0.1:{port}",
    )
    .args(["__echo-server", "--port", "{port}"])
    .ready(Probe::reply("hello\n", "hello"), Duration::from_secs(20))
}
