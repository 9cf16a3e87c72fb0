//! One command, with the services it needs around it.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::Instant;

use crate::process::{End, Interrupts, run};
use crate::services::unstable::{Folder, Provided};
use crate::services::{Error, Machine, Remains, Service, Services};

/// What happened, for the summary at the end.
#[derive(Debug)]
pub struct Report {
    title: String,
    took: Duration,
    result: Result<End, Failure>,
    services: Vec<String>,
    untested: Vec<Untested>,
    remains: Remains,
}

/// A service that could not be had and whose tests are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untested {
    title: String,
    reason: String,
    /// What is in the names of the tests that need it.
    pub tests: String,
}

impl fmt::Display for Untested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: NOT TESTED ({})", self.title, self.reason)
    }
}

/// Why the command did not run to an end.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Service(#[from] Error),
    #[error("cannot run the command: {0}")]
    Command(#[from] io::Error),
}

/// Gets `services` ready, runs the command with their URLs in its environment, and stops them again
/// however it ends. Their data and logs go below `root`; the logs stay unless all went well. `command`
/// is told which services are left out.
///
/// # Errors
///
/// When signals cannot be listened for. All else is in the report.
pub async fn with_services(
    title: &str,
    services: Vec<Service>,
    root: &Path,
    command: impl FnOnce(&[Untested]) -> Command,
) -> io::Result<Report> {
    let started = Instant::now();
    let mut interrupts = Interrupts::listen()?;
    let mut lines = Vec::new();
    let mut untested = Vec::new();
    let mut remains = Remains::default();
    let result = match start(services, root, &mut untested, &mut interrupts).await {
        Ok(Started::Running(services)) => {
            let command = command(&untested);
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
        untested,
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
    untested: &mut Vec<Untested>,
    interrupts: &mut Interrupts,
) -> Result<Started, Error> {
    let (mut to_start, given) = Services::split(services);
    if to_start.iter().any(Service::is_from_unstable) {
        match Folder::of_the_user().provide(interrupts).await {
            Provided::Ready => {}
            Provided::Interrupted(end) => return Ok(Started::Interrupted(end)),
            Provided::Failed(reason) => *untested = leave_out(&mut to_start, &reason)?,
        }
    }
    let machine = Machine::this();
    for service in to_start.iter().filter(|its| !its.is_from_unstable()) {
        machine.provide(service, interrupts).await?;
    }
    tokio::select! {
        services = Services::start(&to_start, given, root) => Ok(Started::Running(services?)),
        signal = interrupts.next() => Ok(Started::Interrupted(End::Interrupted(signal))),
    }
}

/// Takes out what comes from unstable, and says so aloud.
fn leave_out(services: &mut Vec<Service>, reason: &str) -> Result<Vec<Untested>, Error> {
    let mut untested = Vec::new();
    for service in services.extract_if(.., |service| service.is_from_unstable()) {
        let (title, tests) = service.may_be_left_out(reason)?;
        let left_out = Untested {
            title,
            reason: reason.into(),
            tests,
        };
        eprintln!("xtask: {left_out}");
        untested.push(left_out);
    }
    Ok(untested)
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
        for untested in &self.untested {
            write!(f, "\n  {untested}")?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::{catalogue, unstable};

    #[test]
    fn what_unstable_does_not_have_is_left_out_aloud() {
        let mut services = vec![catalogue::redis(), unstable::mysql(), unstable::valkey()];
        let untested = leave_out(&mut services, "no network").unwrap();
        assert_eq!(services.len(), 1);
        let lines: Vec<_> = untested.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "MySQL: NOT TESTED (no network)",
                "Valkey: NOT TESTED (no network)"
            ]
        );
        let tests: Vec<_> = untested.iter().map(|untested| &untested.tests).collect();
        assert_eq!(tests, ["mysql9_", "valkey_"]);
    }

    #[test]
    fn what_is_asked_for_by_name_is_not_left_out() {
        let mut services = vec![unstable::mysql().required()];
        let error = leave_out(&mut services, "`apt-get update` failed").unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("`mysql` comes from Debian unstable, and `apt-get"),
            "{text}"
        );
        assert!(text.contains("GOQUEUE_TEST_MYSQL9_URL"), "{text}");
    }
}
