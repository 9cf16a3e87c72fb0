use std::env;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use tokio::process::Command;

use super::{Error, Service};
use crate::process::{End, Interrupts, run};

/// What matters of this machine for getting a program.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Where programs are: the directories of `PATH`, and those for servers, which only root has
    /// there.
    pub path: Vec<PathBuf>,
    /// True where `apt-get` installs packages.
    pub is_debian: bool,
    /// True when the user may install them.
    pub is_root: bool,
}

/// How to get a program that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Install this Debian package.
    Install(String),
    /// Tell the user.
    Hint {
        /// The program.
        program: PathBuf,
        /// How to get it.
        hint: String,
    },
}

impl Machine {
    /// The machine this runs on.
    #[must_use]
    pub fn this() -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        let for_servers = ["/usr/local/sbin", "/usr/sbin"].map(PathBuf::from);
        Self {
            path: env::split_paths(&path).chain(for_servers).collect(),
            is_debian: Path::new("/etc/debian_version").exists(),
            is_root: geteuid().is_root(),
        }
    }

    /// The full path of a program.
    #[must_use]
    pub fn find(&self, program: &Path) -> Option<PathBuf> {
        // `join` gives a program that is already a full path unchanged.
        self.path
            .iter()
            .map(|dir| dir.join(program))
            .find(|path| path.is_file())
    }

    /// `None` when the programs of `service` are there.
    #[must_use]
    pub fn remedy(&self, service: &Service) -> Option<Remedy> {
        let program = service
            .programs()
            .find(|program| self.find(program).is_none())?;
        let how = match &service.package {
            Some(package) if self.is_debian && self.is_root => {
                return Some(Remedy::Install(package.clone()));
            }
            Some(package) if self.is_debian => {
                format!("install it with `sudo apt-get install {package}`")
            }
            Some(package) => format!("install it (on Debian: `apt-get install {package}`)"),
            None => "install it".into(),
        };
        let hint = format!(
            "{how}, or set {} to the URL of a running one",
            service.variable
        );
        Some(Remedy::Hint {
            program: program.into(),
            hint,
        })
    }

    /// Makes sure that the programs of `service` are there, installing them where that is possible.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] with the way to get it, [`Error::Install`] when installing failed.
    pub async fn provide(
        &self,
        service: &Service,
        interrupts: &mut Interrupts,
    ) -> Result<(), Error> {
        match self.remedy(service) {
            None => Ok(()),
            Some(Remedy::Hint { program, hint }) => Err(Error::Missing {
                service: service.name.clone(),
                program: program.display().to_string(),
                hint,
            }),
            Some(Remedy::Install(package)) => install(service, &package, interrupts).await,
        }
    }
}

async fn install(
    service: &Service,
    package: &str,
    interrupts: &mut Interrupts,
) -> Result<(), Error> {
    eprintln!(
        "xtask: `{}` needs the package `{package}`; installing it",
        service.name
    );
    let install = ["install", "-y", "--no-install-recommends", package];
    // The list of packages may be missing or old, but is fetched only when it has to be.
    let failed = match apt_get(&install, interrupts).await {
        Err(_) => match apt_get(&["update"], interrupts).await {
            Ok(()) => apt_get(&install, interrupts).await,
            failed => failed,
        },
        done => done,
    };
    failed.map_err(|(command, reason)| Error::Install {
        service: service.name.clone(),
        package: package.into(),
        command,
        reason,
    })
}

async fn apt_get(args: &[&str], interrupts: &mut Interrupts) -> Result<(), (String, String)> {
    let mut command = Command::new("apt-get");
    command
        .args(["-qq", "-o", "DPkg::Lock::Timeout=120"])
        .args(args);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    // Packages must not start a server of their own; this is what their scripts look at.
    command.env("RUNLEVEL", "1");
    let reason = match run(command, interrupts).await {
        Ok(End::Exited(status)) if status.success() => return Ok(()),
        Ok(end) => end.to_string(),
        Err(error) => error.to_string(),
    };
    Err((format!("apt-get {}", args.join(" ")), reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::catalogue;

    fn machine(is_debian: bool, is_root: bool) -> Machine {
        Machine {
            path: vec!["/nowhere".into()],
            is_debian,
            is_root,
        }
    }

    fn hint(machine: &Machine, service: &Service) -> String {
        match machine.remedy(service) {
            Some(Remedy::Hint { program, hint }) => {
                assert!(service.programs().any(|its| its == program));
                hint
            }
            other => panic!("expected a hint, got {other:?}"),
        }
    }

    #[test]
    fn root_on_debian_installs() {
        let remedy = machine(true, true).remedy(&catalogue::redis());
        assert_eq!(remedy, Some(Remedy::Install("redis-server".into())));
    }

    #[test]
    fn others_are_told_the_command_and_the_variable() {
        let redis = catalogue::redis();
        for (machine, command) in [
            (machine(true, false), "`sudo apt-get install redis-server`"),
            (machine(false, true), "`apt-get install redis-server`"),
        ] {
            let hint = hint(&machine, &redis);
            assert!(hint.contains(command), "{hint}");
            assert!(hint.contains("GOQUEUE_TEST_REDIS_URL"), "{hint}");
        }
        let unpackaged = Service::new("other", "other", "OTHER_URL", "tcp://127.0.0.1:{port}");
        assert_eq!(
            hint(&machine(true, true), &unpackaged),
            "install it, or set OTHER_URL to the URL of a running one"
        );
    }

    #[test]
    fn a_program_in_the_path_or_with_a_full_path_needs_nothing() {
        let shell = |program: &str| Service::new("shell", program, "SHELL_URL", "");
        let machine = Machine {
            path: vec!["/bin".into()],
            ..machine(true, true)
        };
        assert_eq!(machine.remedy(&shell("sh")), None);
        assert_eq!(machine.remedy(&shell("/bin/sh")), None);
        assert_ne!(machine.remedy(&shell("/bin/no-such-shell")), None);
    }
}
