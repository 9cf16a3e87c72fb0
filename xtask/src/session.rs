//! One command, with the services it needs around it.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::Instant;

use crate::process::{End, Interrupts, run};
use crate::services::{Error, Machine, Remains, Service, Services};

/// What happened, for the summary at the end.
#[derive(Debug)]
pub struct Report {
    title: String,
    took: Duration,
    result: Result<End, Failure>,
    services: Vec<String>,
    remains: Remains,
}

/// Why the command did not run to an end.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Service(#[from] Error),
    #[error("cannot run the command: {0}")]
    Command(#[from] io::Error),
}

/// Gets `services` ready, runs `command` with their URLs in its environment, and stops them again
/// however it ends. Their data and logs go below `root`; the logs stay unless all went well.
///
/// # Errors
///
/// When signals cannot be listened for. All else is in the report.
pub async fn with_services(
    title: &str,
    services: Vec<Service>,
    root: &Path,
    command: Command,
) -> io::Result<Report> {
    let started = Instant::now();
    let mut interrupts = Interrupts::listen()?;
    let mut lines = Vec::new();
    let mut remains = Remains::default();
    let result = match start(services, root, &mut interrupts).await {
        Ok(Started::Running(services)) => {
            lines = services.describe();
            let result = run_beside(&services, command, &mut interrupts).await;
            remains = services
                .stop(!result.as_ref().is_ok_and(|end| end.is_success()))
                .await;
            result
        }
        Ok(Started::Interrupted(end)) => Ok(end),
        Err(error) => Err(error.into()),
    };
    Ok(Report {
        title: title.into(),
        took: started.elapsed(),
        result,
        services: lines,
        remains,
    })
}

enum Started {
    Running(Services),
    Interrupted(End),
}

async fn start(
    services: Vec<Service>,
    root: &Path,
    interrupts: &mut Interrupts,
) -> Result<Started, Error> {
    let (to_start, given) = Services::split(services);
    let machine = Machine::this();
    for service in &to_start {
        machine.provide(service, interrupts).await?;
    }
    tokio::select! {
        services = Services::start(&to_start, given, root) => Ok(Started::Running(services?)),
        signal = interrupts.next() => Ok(Started::Interrupted(End::Interrupted(signal))),
    }
}

async fn run_beside(
    services: &Services,
    mut command: Command,
    interrupts: &mut Interrupts,
) -> Result<End, Failure> {
    command.envs(services.environment());
    Ok(run(command, interrupts).await?)
}

impl Report {
    /// The exit code: the command's own, or 1 when there is none.
    #[must_use]
    pub fn code(&self) -> u8 {
        self.result.as_ref().map_or(1, |end| end.code())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = self.took.as_secs_f64();
        let title = &self.title;
        match &self.result {
            Ok(end) if end.is_success() => write!(f, "xtask: {title} passed in {took:.1} s")?,
            Ok(end) => write!(f, "xtask: {title} FAILED after {took:.1} s ({end})")?,
            Err(failure) => write!(f, "xtask: {title} DID NOT RUN: {failure}")?,
        }
        if self.services.is_empty() && self.result.is_ok() {
            write!(f, "\n  services: none needed")?;
        }
        for service in &self.services {
            write!(f, "\n  service {service}")?;
        }
        for problem in &self.remains.problems {
            write!(f, "\n  problem: {problem}")?;
        }
        for log in &self.remains.logs {
            write!(f, "\n  log kept: {}", log.display())?;
        }
        Ok(())
    }
}
