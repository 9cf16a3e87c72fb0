use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::process::Command;

use super::{Error, Machine, Place, Probe};

/// How to start one kind of server and how to tell tests where it is.
///
/// Arguments and the URL are templates: `{port}` becomes the port to listen on, `{dir}` an empty
/// directory for the server's data.
#[derive(Clone, Debug)]
pub struct Service {
    pub(super) name: String,
    pub(super) setup: Vec<Program>,
    pub(super) server: Program,
    pub(super) variable: String,
    pub(super) url: String,
    pub(super) also: Option<(String, String)>,
    pub(super) unstable: Option<Unstable>,
    pub(super) probe: Probe,
    pub(super) ready_within: Duration,
    pub(super) stop_within: Duration,
    pub(super) package: Option<String>,
    pub(super) needed_by: Vec<String>,
}

/// A service whose programs come from Debian unstable, where something may be broken any day.
#[derive(Clone, Debug)]
pub(super) struct Unstable {
    /// Its name in reports.
    pub(super) title: String,
    /// What is in the names of the tests that need it. `None` where the service is needed itself.
    pub(super) tests: Option<String>,
}

/// A program and its arguments, which are templates.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    args: Vec<String>,
}

impl Service {
    /// A server that is ready when its port accepts a connection, within 20 seconds, and that
    /// gets 5 seconds to stop. Tests find its URL in the environment variable `variable`.
    #[must_use]
    pub fn new(name: &str, program: impl Into<PathBuf>, variable: &str, url: &str) -> Self {
        Self {
            name: name.into(),
            setup: Vec::new(),
            server: Program::new(program.into(), []),
            variable: variable.into(),
            url: url.into(),
            also: None,
            unstable: None,
            probe: Probe::Connect,
            ready_within: Duration::from_secs(20),
            stop_within: Duration::from_secs(5),
            package: None,
            needed_by: Vec::new(),
        }
    }

    /// Adds arguments of the server.
    #[must_use]
    pub fn args<'a>(mut self, args: impl IntoIterator<Item = &'a str>) -> Self {
        self.server.args.extend(args.into_iter().map(String::from));
        self
    }

    /// Adds a program that must have succeeded before the server starts, such as one that makes an
    /// empty database.
    #[must_use]
    pub fn setup<'a>(
        mut self,
        program: impl Into<PathBuf>,
        args: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        self.setup.push(Program::new(program.into(), args));
        self
    }

    /// What tells that the server can be used, and how long that may take.
    #[must_use]
    pub fn ready(mut self, probe: Probe, within: Duration) -> Self {
        self.probe = probe;
        self.ready_within = within;
        self
    }

    /// How long the server may take to stop before it is killed.
    #[must_use]
    pub fn stop_within(mut self, grace: Duration) -> Self {
        self.stop_within = grace;
        self
    }

    /// The Debian package that has the programs.
    #[must_use]
    pub fn package(mut self, package: &str) -> Self {
        self.package = Some(package.into());
        self
    }

    /// Another environment variable, for tests that start servers of their own.
    #[must_use]
    pub fn also(mut self, variable: &str, value: &str) -> Self {
        self.also = Some((variable.into(), value.into()));
        self
    }

    /// Its programs come from Debian unstable. Where those cannot be had, the tests with `tests` in
    /// their names are left out, and the report says that `title` is not tested.
    #[must_use]
    pub fn from_unstable(mut self, title: &str, tests: &str) -> Self {
        self.unstable = Some(Unstable {
            title: title.into(),
            tests: Some(tests.into()),
        });
        self
    }

    /// Nothing goes on without it.
    #[must_use]
    pub fn required(mut self) -> Self {
        if let Some(unstable) = &mut self.unstable {
            unstable.tests = None;
        }
        self
    }

    /// The crate whose tests use it. Where the workspace has no such crate it is not started.
    #[must_use]
    pub fn needed_by(mut self, package: &str) -> Self {
        self.needed_by.push(package.into());
        self
    }

    /// Its name in logs and on the command line.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The environment variable that has its URL.
    #[must_use]
    pub fn variable(&self) -> &str {
        &self.variable
    }

    /// True when one of `packages` has tests that use it.
    #[must_use]
    pub fn is_needed_by(&self, packages: &[String]) -> bool {
        self.needed_by
            .iter()
            .any(|package| packages.contains(package))
    }

    /// True when its programs come from Debian unstable.
    #[must_use]
    pub fn is_from_unstable(&self) -> bool {
        self.unstable.is_some()
    }

    /// What it is called in reports and what is in the names of its tests.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when nothing goes on without it.
    pub fn may_be_left_out(&self, reason: &str) -> Result<(String, String), Error> {
        match &self.unstable {
            Some(Unstable {
                title,
                tests: Some(tests),
            }) => Ok((title.clone(), tests.clone())),
            _ => Err(Error::Unavailable {
                service: self.name.clone(),
                reason: reason.into(),
                variable: self.variable.clone(),
            }),
        }
    }

    pub(super) fn url_on(&self, port: u16) -> String {
        self.url.replace("{port}", &port.to_string())
    }

    pub(super) fn programs(&self) -> impl Iterator<Item = &Path> {
        self.setup
            .iter()
            .chain([&self.server])
            .map(|program| program.path.as_path())
    }
}

impl Program {
    fn new<'a>(path: PathBuf, args: impl IntoIterator<Item = &'a str>) -> Self {
        let args = args.into_iter().map(String::from).collect();
        Self { path, args }
    }

    pub(super) fn command(&self, port: u16, place: &Place) -> Command {
        let (port, dir) = (port.to_string(), place.data().display().to_string());
        let fill = |arg: &String| arg.replace("{port}", &port).replace("{dir}", &dir);
        let path = Machine::this().find(&self.path);
        let mut command = Command::new(path.as_ref().unwrap_or(&self.path));
        command.args(self.args.iter().map(fill));
        command
    }
}
