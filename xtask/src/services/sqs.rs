//! Two independent implementations of the SQS protocol, each in a Python environment of its own in
//! the user's cache directory, so that it is installed once.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::unistd::geteuid;

use super::{Probe, Service};

/// One implementation: what it is called, what is installed, and how it starts.
#[derive(Clone, Copy, Debug)]
struct Implementation {
    name: &'static str,
    variable: &'static str,
    packages: &'static [&'static str],
    module: &'static str,
    /// Templates, as in a [`Service`].
    environment: &'static [(&'static str, &'static str)],
    /// What it is asked to see whether it is ready, and what it answers then.
    health: (&'static str, &'static str),
}

const MINISTACK: Implementation = Implementation {
    name: "sqs",
    variable: "GOQUEUE_TEST_SQS_URL",
    packages: &["ministack==1.5.33"],
    module: "ministack",
    environment: &[
        ("BIND_HOST", "127.0.0.1"),
        ("GATEWAY_PORT", "{port}"),
        ("SERVICES", "sqs"),
    ],
    health: ("/_ministack/health", "\"sqs\""),
};

const LOCALSTACK: Implementation = Implementation {
    name: "sqs-strict",
    variable: "GOQUEUE_TEST_SQS_STRICT_URL",
    packages: &[
        "localstack-core[base-runtime]==4.12.0",
        "cbor2==5.7.1",
        "pyopenssl==25.3.0",
    ],
    module: "localstack.runtime.main",
    environment: &[
        ("SERVICES", "sqs"),
        ("STRICT_SERVICE_LOADING", "1"),
        ("EAGER_SERVICE_LOADING", "1"),
        ("SKIP_SSL_CERT_DOWNLOAD", "1"),
        ("DISABLE_EVENTS", "1"),
        ("DNS_ADDRESS", "0"),
        ("SQS_ENDPOINT_STRATEGY", "path"),
        ("LOCALSTACK_HOST", "127.0.0.1:{port}"),
        // Without these two it listens on every interface.
        ("GATEWAY_SERVER", "hypercorn"),
        ("GATEWAY_LISTEN", "127.0.0.1:{port}"),
        ("LOCALSTACK_VOLUME_DIR", "{dir}"),
    ],
    health: ("/_localstack/health", "\"sqs\": \"running\""),
};

/// Tests that break a server start their own, by the program that this variable names.
pub const SERVER: &str = "GOQUEUE_TEST_SQS_SERVER";

const ALL: [Implementation; 2] = [MINISTACK, LOCALSTACK];

/// The services, `xtask` being the path of this program. `sqs` is quick and refuses receipts that
/// are over, `sqs-strict` is slower and strict about limits.
#[must_use]
pub fn all(xtask: &Path) -> [Service; 2] {
    ALL.map(|its| its.service(xtask))
}

impl Implementation {
    fn service(self, xtask: &Path) -> Service {
        // Any credentials do: neither checks them.
        let url = "sqs://us-east-1/?endpoint=http://127.0.0.1:{port}&create_queues=true\
                   &access_key_id=test-key&secret_access_key=test-secret&session_token=test-session";
        let (path, answer) = self.health;
        let asked = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
        let service = Service::new(self.name, xtask, self.variable, url)
            // Not to set anything up: so that a missing Python is noticed, and installed, beforehand.
            .setup("python3", ["--version"])
            .setup(xtask, ["__sqs", self.name, "--install"])
            .args(["__sqs", self.name, "--port", "{port}", "--dir", "{dir}"])
            .ready(Probe::reply(&asked, answer), Duration::from_secs(120))
            .package("python3-venv")
            .needed_by("goqueue-sqs");
        match self.program() {
            Ok(program) if self.name == MINISTACK.name => service
                .also(SERVER, &program.display().to_string())
                .needed_by("goqueue-chaos")
                .needed_by("goqueue-cli"),
            _ => service,
        }
    }

    /// What starts it, once it is installed.
    fn program(&self) -> io::Result<PathBuf> {
        Ok(self.home()?.join("venv/bin").join(self.module))
    }

    /// The environment that it is installed in. The name tells what is in it.
    fn home(&self) -> io::Result<PathBuf> {
        let cache = match std::env::var_os("XDG_CACHE_HOME") {
            Some(cache) if !cache.is_empty() => PathBuf::from(cache),
            _ => std::env::home_dir()
                .ok_or_else(|| io::Error::other("the user has no home directory"))?
                .join(".cache"),
        };
        let version = self.packages[0].rsplit('=').next().unwrap_or_default();
        Ok(cache.join(format!("goqueue/{}-{version}", self.name)))
    }

    fn install(&self) -> io::Result<()> {
        let home = self.home()?;
        fs::create_dir_all(&home)?;
        // Another run may be at it.
        let lock = File::create(home.join("lock"))?;
        lock.lock()?;
        let is_done = home.join("installed");
        if is_done.exists() {
            return Ok(());
        }
        let venv = home.join("venv");
        if run(&python(), &["-c", "import ensurepip"]).is_err() {
            bring_venv()?;
        }
        let venv_text = venv.display().to_string();
        run(&python(), &["-m", "venv", "--clear", &venv_text])?;
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ];
        run(&venv_python(&venv), &[&pip, self.packages].concat())?;
        File::create(is_done)?;
        Ok(())
    }

    /// Becomes the server.
    fn serve(&self, port: u16, dir: &Path) -> io::Error {
        let home = match self.home() {
            Ok(home) => home,
            Err(error) => return error,
        };
        let (port, dir) = (port.to_string(), dir.display().to_string());
        let fill = |text: &str| text.replace("{port}", &port).replace("{dir}", &dir);
        let mut command = Command::new(venv_python(&home.join("venv")));
        command.args(["-m", self.module]);
        command.envs(
            self.environment
                .iter()
                .map(|(name, value)| (name, fill(value))),
        );
        // Its own settings, and no others of somebody who uses it for other work.
        command.env_remove("PERSISTENCE").env_remove("DEBUG");
        command.exec()
    }
}

/// Installs the implementation called `name`, where that has not been done.
///
/// # Errors
///
/// When there is none of this name, or what went wrong with Python or its package client.
pub fn install(name: &str) -> io::Result<()> {
    named(name)?.install()
}

/// The program of the quick implementation, installed where that has not been done.
///
/// # Errors
///
/// As for [`install`].
pub fn program() -> io::Result<PathBuf> {
    MINISTACK.install()?;
    MINISTACK.program()
}

/// Becomes the server called `name` on `port`, with its data below `dir`.
///
/// # Errors
///
/// Always, for it does not return otherwise.
pub fn serve(name: &str, port: u16, dir: &Path) -> io::Result<()> {
    Err(named(name)?.serve(port, dir))
}

fn named(name: &str) -> io::Result<Implementation> {
    let its = ALL.into_iter().find(|its| its.name == name);
    its.ok_or_else(|| io::Error::other(format!("there is no SQS service `{name}`")))
}

fn python() -> PathBuf {
    "python3".into()
}

fn venv_python(venv: &Path) -> PathBuf {
    venv.join("bin/python")
}

/// Debian keeps the module that makes environments in a package of its own.
fn bring_venv() -> io::Result<()> {
    let package = "python3-venv";
    if geteuid().is_root() && Path::new("/etc/debian_version").exists() {
        let install = ["-qq", "install", "-y", "--no-install-recommends", package];
        return run(Path::new("apt-get"), &install);
    }
    Err(io::Error::other(format!(
        "this Python makes no environments (`import ensurepip` fails): install `{package}`"
    )))
}

fn run(program: &Path, args: &[&str]) -> io::Result<()> {
    let status = Command::new(program).args(args).status()?;
    if status.success() {
        return Ok(());
    }
    let (program, args) = (program.display(), args.join(" "));
    Err(io::Error::other(format!(
        "`{program} {args}` failed: {status}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_listens_on_the_loopback_interface_only_and_has_its_own_variable() {
        let [first, second] = all(Path::new("/xtask"));
        assert_ne!(first.variable(), second.variable());
        assert_ne!(MINISTACK.home().unwrap(), LOCALSTACK.home().unwrap());
        for its in ALL {
            let listens = |(_, value): &(&str, &str)| value.contains("127.0.0.1");
            assert!(its.environment.iter().any(listens), "{}", its.name);
        }
    }

    #[test]
    fn an_unknown_one_is_named() {
        let error = install("rabbit").unwrap_err().to_string();
        assert_eq!(error, "there is no SQS service `rabbit`");
    }
}
