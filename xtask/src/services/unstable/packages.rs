use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use tokio::process::Command;

use crate::process::{End, Interrupts, run};

const PACKAGES: [&str; 2] = ["mysql-server-core", "valkey-server"];
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Why there are no servers.
#[derive(Debug)]
pub(super) enum Failure {
    Because(String),
    Interrupted(End),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Because(error.to_string())
    }
}

/// Fetches the packages with all that they need and unpacks them into `folder`, beside a launcher
/// for each server and an empty database.
pub(super) async fn unpack(folder: &Path, interrupts: &mut Interrupts) -> Result<(), Failure> {
    if !Path::new(KEYS).exists() {
        let reason = format!("this is no Debian: there is no {KEYS}");
        return Err(Failure::Because(reason));
    }
    let work = Work::begin(folder)?;
    work.choose_mirror(interrupts).await?;
    work.apt_get(&["update"], interrupts).await?;
    let install = [
        "install",
        "-y",
        "--no-install-recommends",
        "--download-only",
    ];
    let install = [&install[..], &PACKAGES].concat();
    work.apt_get(&install, interrupts).await?;
    let mut unpack = Command::new("sh");
    unpack.args(["-c", UNPACK, "sh"]);
    unpack.arg(work.archives()).arg(work.root());
    work.run("dpkg-deb -x", unpack, interrupts).await?;

    let mysqld = work.launcher(
        "mysqld",
        "usr/sbin/mysqld",
        // Behind what it is given, of which `--no-defaults` has to be the first.
        "\"$@\" --basedir=\"$here/root/usr\" --plugin-dir=\"$here/root/usr/lib/mysql/plugin\" \
         --lc-messages-dir=\"$here/root/usr/share/mysql\"",
    )?;
    let valkey = work.launcher("valkey-server", "usr/bin/valkey-server", "\"$@\"")?;
    let mut check = Command::new(valkey);
    check.arg("--version");
    work.run("valkey-server --version", check, interrupts)
        .await?;
    let mut make = Command::new(mysqld);
    make.args(["--no-defaults", "--initialize-insecure"])
        .args(["--innodb-redo-log-capacity=32M", "--skip-log-bin"])
        .arg(format!("--datadir={}", folder.join("data").display()));
    if geteuid().is_root() {
        make.arg("--user=root");
    }
    work.run("mysqld --initialize-insecure", make, interrupts)
        .await?;
    fs::remove_dir_all(work.apt)?;
    Ok(())
}

/// Two at a time.
const UNPACK: &str = "find \"$1\" -name '*.deb' -print0 | xargs -0 -P2 -I{} dpkg-deb -x {} \"$2\"";

/// A folder in the making, with a state of apt of its own.
struct Work {
    folder: PathBuf,
    apt: PathBuf,
}

impl Work {
    fn begin(folder: &Path) -> io::Result<Self> {
        let work = Self {
            folder: folder.into(),
            apt: folder.join("apt"),
        };
        for dir in ["state/lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(work.apt.join(dir))?;
        }
        fs::create_dir_all(work.root())?;
        // Nothing is installed as far as this state knows, so that everything is fetched.
        File::create(work.apt.join("status"))?;
        Ok(work)
    }

    /// Takes the mirror that this machine has its own packages from.
    async fn choose_mirror(&self, interrupts: &mut Interrupts) -> Result<(), Failure> {
        let mut command = Command::new("apt-get");
        command.args(["indextargets", "--format", "$(REPO_URI)"]);
        self.run("apt-get indextargets", command, interrupts)
            .await?;
        let said = fs::read_to_string(self.output())?;
        let is_debian = |uri: &&str| uri.trim_end_matches('/').ends_with("/debian");
        let Some(mirror) = said.lines().find(is_debian) else {
            let reason = "the sources of apt name no mirror of Debian";
            return Err(Failure::Because(reason.into()));
        };
        let sources = format!("deb [signed-by={KEYS}] {mirror} sid main\n");
        Ok(fs::write(self.apt.join("sources.list"), sources)?)
    }

    fn output(&self) -> PathBuf {
        self.apt.join("output")
    }

    fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    fn archives(&self) -> PathBuf {
        self.apt.join("cache/archives")
    }

    async fn apt_get(&self, args: &[&str], interrupts: &mut Interrupts) -> Result<(), Failure> {
        let mut command = Command::new("apt-get");
        let apt = self.apt.display();
        // The machine's own settings stay, for they say how to reach the network.
        for (key, value) in [
            ("Dir::State", format!("{apt}/state")),
            ("Dir::State::status", format!("{apt}/status")),
            ("Dir::Cache", format!("{apt}/cache")),
            ("Dir::Etc::sourcelist", format!("{apt}/sources.list")),
            ("Dir::Etc::sourceparts", format!("{apt}/none")),
            ("Acquire::Languages", "none".into()),
            ("Acquire::Retries", "2".into()),
            ("Acquire::http::Timeout", "20".into()),
            // By default a list that cannot be had is no error.
            ("APT::Update::Error-Mode", "any".into()),
        ] {
            command.args(["-o", &format!("{key}={value}")]);
        }
        command.arg("-qq").args(args);
        self.run(&format!("apt-get {}", args[0]), command, interrupts)
            .await
    }

    /// Runs `command`, called `name`, whose output ends in a file.
    async fn run(
        &self,
        name: &str,
        mut command: Command,
        interrupts: &mut Interrupts,
    ) -> Result<(), Failure> {
        let file = File::create(self.output())?;
        command.stdout(file.try_clone()?).stderr(file);
        let how = match run(command, interrupts).await {
            Ok(end) if end.is_success() => return Ok(()),
            Ok(end @ End::Interrupted(_)) => return Err(Failure::Interrupted(end)),
            Ok(end) => end.to_string(),
            Err(error) => error.to_string(),
        };
        let said = fs::read_to_string(self.output()).unwrap_or_default();
        let last = said.lines().rfind(|line| !line.trim().is_empty());
        let last = last.unwrap_or("it said nothing");
        Err(Failure::Because(format!("`{name}` failed ({how}): {last}")))
    }

    /// Writes a script that starts `program` through the loader that came with it.
    fn launcher(&self, name: &str, program: &str, args: &str) -> io::Result<PathBuf> {
        let (loader, libraries) = self.loader()?;
        let script = format!(
            "#!/bin/sh\nhere=$(dirname \"$(readlink -f \"$0\")\")\n\
             exec \"$here/root/{loader}\" --library-path \"$here/root/{libraries}\" \
             \"$here/root/{program}\" {args}\n"
        );
        let path = self.folder.join(name);
        fs::write(&path, script)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path)
    }

    /// The dynamic loader, and the directory with the libraries, which has the C library in it. Their
    /// names depend on the processor.
    fn loader(&self) -> io::Result<(String, String)> {
        for entry in fs::read_dir(self.root().join("usr/lib"))? {
            let dir = entry?.path();
            if !dir.join("libc.so.6").exists() {
                continue;
            }
            for entry in fs::read_dir(&dir)? {
                let name = entry?.file_name().to_string_lossy().into_owned();
                if name.starts_with("ld-linux") {
                    let dir = dir.file_name().unwrap_or_default().to_string_lossy();
                    return Ok((format!("usr/lib/{dir}/{name}"), format!("usr/lib/{dir}")));
                }
            }
        }
        Err(io::Error::other("the packages have no dynamic loader"))
    }
}
