//! Private servers, started for the benchmark alone.

use std::{path::PathBuf, time::Duration};

use xtask::services::{Instance, Probe, Service, catalogue};

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

/// A MariaDB that flushes its log at every commit, as it does by default, with room for its tables
/// in memory.
pub(crate) async fn mariadb() -> Result<Instance, Failure> {
    start(&catalogue::mariadb().args(["--innodb-buffer-pool-size=1G"])).await
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
