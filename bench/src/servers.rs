//! Private servers, started for the benchmark alone.

use std::{path::PathBuf, time::Duration};

use sqlx::{Connection, Executor, MySqlConnection};
use xtask::services::{Instance, Probe, Service, catalogue, unstable};

use crate::sample::Failure;

/// A Redis that keeps everything in memory: its disk is not what is measured.
pub(crate) async fn redis() -> Result<Instance, Failure> {
    let service = Service::new(
        "bench-redis",
        "redis-server",
        "GOQUEUE_BENCH_REDIS_URL",
        "redis://127.0.0.1:{port}/0",
    )
    .args(["--port", "{port}", "--bind", "127.0.0.1"])
    .args(["--save", "", "--appendonly", "no", "--dir", "{dir}"])
    .ready(Probe::reply("PING\r\n", "+PONG"), Duration::from_secs(20))
    .package("redis-server");
    start(&service).await
}

/// Whose server the MySQL driver is measured on.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Maker {
    /// The one that is installed
    Mariadb,
    /// A MySQL from Debian unstable, as `cargo xtask test` fetches it
    Mysql,
}

/// A server that flushes its log at every commit, as both do by default, with room for its tables in
/// memory; and the URL of an empty database on it.
pub(crate) async fn database(maker: Maker) -> Result<(Instance, String), Failure> {
    let service = match maker {
        Maker::Mariadb => catalogue::mariadb(),
        Maker::Mysql => unstable::mysql(),
    };
    let service = service.args([
        "--innodb-buffer-pool-size=1G",
        "--innodb-flush-log-at-trx-commit=1",
    ]);
    let instance = start(&service).await?;
    let url = match maker {
        Maker::Mariadb => instance.url(),
        Maker::Mysql => {
            let mut connection = MySqlConnection::connect(&instance.url()).await?;
            connection.execute("CREATE DATABASE bench").await?;
            format!("{}/bench", instance.url())
        }
    };
    Ok((instance, url))
}

async fn start(service: &Service) -> Result<Instance, Failure> {
    let instance = Instance::start(service, &target()?.join("bench-services")).await?;
    println!("{} runs at {}", service.name(), instance.url());
    Ok(instance)
}

/// The target directory, from where this program is in it.
pub(crate) fn target() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(2);
    Ok(target
        .ok_or("this program is in no target directory")?
        .to_owned())
}
