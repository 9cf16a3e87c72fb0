//! `cargo xtask`: see the library of this crate.

mod cli;

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use tokio::process::Command;
use xtask::services::{Service, catalogue, sqs};
use xtask::session::Untested;
use xtask::workspace::{FACADE, WITH_MYSQL, Workspace, cargo};
use xtask::{check, echo, redis_cluster, services, session};

use crate::cli::{CheckArgs, Cli, Task};

/// How many tests of one program run at a time, as the test harness reads it.
const TEST_THREADS: &str = "RUST_TEST_THREADS";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match dispatch(Cli::parse().task).await {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn dispatch(task: Task) -> Result<u8, Box<dyn Error>> {
    match task {
        Task::Test { args } => test(&args).await,
        Task::With { services, command } => with(&services, &command).await,
        Task::Chaos { args } => chaos(&args).await,
        Task::Check(args) | Task::Ci(args) => check(&args).await,
        Task::EchoServer { port } => Ok(echo::serve(port).await.map(|()| 0)?),
        Task::RedisCluster { port, dir } => {
            Ok(redis_cluster::serve(port, &dir).await.map(|()| 0)?)
        }
        Task::Sqs {
            name,
            port: Some(port),
            dir: Some(dir),
            install: false,
        } => Ok(sqs::serve(&name, port, &dir).map(|()| 0)?),
        Task::Sqs { name, .. } => Ok(sqs::install(&name).map(|()| 0)?),
    }
}

async fn test(args: &[String]) -> Result<u8, Box<dyn Error>> {
    let workspace = Workspace::read()?;
    let packages = workspace.package_names();
    let needed = all_services()?
        .into_iter()
        .filter(|service| service.is_needed_by(&packages));
    run(
        "cargo test",
        needed.collect(),
        workspace.services_dir(),
        |untested| cargo_test(&workspace.root(), args, untested),
    )
    .await
}

fn cargo_test(root: &Path, args: &[String], untested: &[Untested]) -> Command {
    let mut command = Command::new(cargo());
    // Without `--workspace`: the default members, which leave the benchmarks out. And to the end, so
    // that one run shows every driver that fails.
    command
        .args(["test", "--no-fail-fast"])
        .args(args)
        .current_dir(root);
    // Cargo refuses a feature of a package that is not among those to be tested.
    if args.is_empty() {
        command.args(["--features", WITH_MYSQL]);
    }
    if !untested.is_empty() && !args.iter().any(|arg| arg == "--") {
        command.arg("--");
    }
    for untested in untested {
        command.args(["--skip", &untested.tests]);
    }
    // Tests against a service wait far more than they work, so more of them than there are
    // processors can run at a time.
    if env::var_os(TEST_THREADS).is_none() {
        command.env(TEST_THREADS, "8");
    }
    command
}

async fn with(names: &[String], command: &[String]) -> Result<u8, Box<dyn Error>> {
    let (program, args) = command.split_first().ok_or("no command was given")?;
    let services: Result<_, _> = names
        .iter()
        .map(|name| service(name).map(Service::required))
        .collect();
    let root = Workspace::read()?.services_dir();
    run(program, services?, root, |_| {
        let mut command = Command::new(program);
        command.args(args);
        command
    })
    .await
}

async fn chaos(args: &[String]) -> Result<u8, Box<dyn Error>> {
    let workspace = Workspace::read()?;
    let mut command = Command::new(cargo());
    command
        .args(["run", "--quiet", "--package", "goqueue-chaos", "--"])
        .args(args)
        .current_dir(workspace.root());
    if breaks_sqs(args) {
        command.env(sqs::SERVER, sqs::program()?);
    }
    run("chaos", Vec::new(), workspace.services_dir(), |_| command).await
}

/// Whether SQS is among the drivers, of which no named one means all.
fn breaks_sqs(args: &[String]) -> bool {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        return false;
    }
    let mut drivers = args
        .iter()
        .skip_while(|arg| !arg.starts_with("--driver"))
        .peekable();
    drivers.peek().is_none() || drivers.any(|arg| arg.contains("sqs"))
}

async fn run(
    title: &str,
    services: Vec<Service>,
    root: PathBuf,
    command: impl FnOnce(&[Untested]) -> Command,
) -> Result<u8, Box<dyn Error>> {
    let report = session::with_services(title, services, &root, command).await?;
    eprintln!("{report}");
    Ok(report.code())
}

async fn check(args: &CheckArgs) -> Result<u8, Box<dyn Error>> {
    let workspace = Workspace::read()?;
    let steps = check::steps(&workspace.features(FACADE), args.advisories);
    let code = check::run_all(&steps, &workspace.root()).await?;
    if !args.advisories {
        println!("  not checked: advisories (needs the network: cargo xtask check --advisories)");
    }
    Ok(code)
}

fn all_services() -> Result<Vec<Service>, std::io::Error> {
    Ok(catalogue::all(&env::current_exe()?))
}

fn service(name: &str) -> Result<Service, Box<dyn Error>> {
    let mut all = all_services()?;
    match all.iter().position(|service| service.name() == name) {
        Some(index) => Ok(all.swap_remove(index)),
        None => Err(services::Error::Unknown {
            given: name.into(),
            allowed: all
                .iter()
                .map(|service| service.name().to_owned())
                .collect(),
        }
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::breaks_sqs;

    #[test]
    fn the_server_of_sqs_is_needed_where_sqs_is_broken() {
        let breaks = |line: &str| {
            let args: Vec<_> = line.split_whitespace().map(String::from).collect();
            breaks_sqs(&args)
        };
        for line in [
            "",
            "--seeds 3",
            "--driver sqs",
            "--seed 1 --driver=sqs-fifo",
        ] {
            assert!(breaks(line), "{line}");
        }
        for line in ["--help", "--driver redis", "--driver=mysql --seeds 3"] {
            assert!(!breaks(line), "{line}");
        }
    }
}
