use std::env;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::time::sleep;

use super::packages::{self, Failure};
use crate::process::{End, Interrupts};

/// How long a folder is used before a newer one is made.
const FRESH_FOR: Duration = Duration::from_secs(7 * 24 * 3600);
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Where the servers are unpacked. `current` leads to the newest of them; a run that began with the
/// one before keeps it.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

/// What became of the servers.
#[derive(Debug)]
pub enum Provided {
    /// They are there.
    Ready,
    /// They could not be had, for this reason.
    Failed(String),
    /// Somebody wants this process to end.
    Interrupted(End),
}

impl Folder {
    /// The one in the cache of the user.
    #[must_use]
    pub fn of_the_user() -> Self {
        let of_home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        let cache = env::var_os("XDG_CACHE_HOME")
            .filter(|cache| !cache.is_empty())
            .map(PathBuf::from)
            .or_else(of_home)
            .unwrap_or_else(env::temp_dir);
        Self::at(cache.join("goqueue/debian-unstable"))
    }

    /// One at this path.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Where the programs are, once they are there.
    #[must_use]
    pub fn current(&self) -> PathBuf {
        self.0.join("current")
    }

    /// Makes sure that the servers are there: those of this week, or older ones when new ones cannot
    /// be had. Another process that is doing so is waited for.
    pub async fn provide(&self, interrupts: &mut Interrupts) -> Provided {
        let lock = tokio::select! {
            lock = self.lock() => lock,
            signal = interrupts.next() => return Provided::Interrupted(End::Interrupted(signal)),
        };
        let _lock = match lock {
            Ok(lock) => lock,
            Err(error) => return Provided::Failed(format!("{}: {error}", self.0.display())),
        };
        if self.is_fresh(SystemTime::now()) {
            return Provided::Ready;
        }
        eprintln!(
            "xtask: MySQL and Valkey are fetched from Debian unstable into {}",
            self.0.display()
        );
        let reason = match self.renew(interrupts).await {
            Ok(()) => return Provided::Ready,
            Err(Failure::Interrupted(end)) => return Provided::Interrupted(end),
            Err(Failure::Because(reason)) => reason,
        };
        if self.current().exists() {
            eprintln!("xtask: the ones of an earlier week are used, for {reason}");
            return Provided::Ready;
        }
        Provided::Failed(reason)
    }

    async fn lock(&self) -> io::Result<File> {
        fs::create_dir_all(&self.0)?;
        let file = File::create(self.0.join("lock"))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => sleep(LOOK_EVERY).await,
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    fn is_fresh(&self, now: SystemTime) -> bool {
        let made = fs::metadata(self.current()).and_then(|folder| folder.modified());
        made.is_ok_and(|made| now.duration_since(made).is_ok_and(|age| age < FRESH_FOR))
    }

    /// Makes a new folder, and leaves things as they are when that fails.
    async fn renew(&self, interrupts: &mut Interrupts) -> Result<(), Failure> {
        let name = format!("{}-{}", seconds_since_epoch(), std::process::id());
        let made = self.0.join(&name);
        if let Err(failure) = packages::unpack(&made, interrupts).await {
            let _ = fs::remove_dir_all(&made);
            return Err(failure);
        }
        let before = fs::read_link(self.current()).ok();
        self.switch_to(&name)?;
        self.remove_all_but(&[Path::new(&name), before.as_deref().unwrap_or(&made)])?;
        Ok(())
    }

    fn switch_to(&self, name: &str) -> io::Result<()> {
        let link = self.0.join("next");
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(name, &link)?;
        fs::rename(link, self.current())
    }

    fn remove_all_but(&self, kept: &[&Path]) -> io::Result<()> {
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            let is_folder = entry.file_type()?.is_dir();
            if is_folder && !kept.contains(&Path::new(&entry.file_name())) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }
}

fn seconds_since_epoch() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> Folder {
        let path = env::temp_dir().join(format!("xtask-unstable-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder::at(path)
    }

    #[test]
    fn a_folder_is_fresh_for_a_week() {
        let folder = folder("fresh");
        assert!(!folder.is_fresh(SystemTime::now()));
        fs::create_dir(folder.0.join("1")).unwrap();
        folder.switch_to("1").unwrap();
        let now = SystemTime::now();
        assert!(folder.is_fresh(now + FRESH_FOR / 2));
        assert!(!folder.is_fresh(now + FRESH_FOR * 2));
        fs::remove_dir_all(folder.0).unwrap();
    }

    #[test]
    fn switching_keeps_the_one_before() {
        let folder = folder("switch");
        for name in ["1", "2", "3"] {
            fs::create_dir(folder.0.join(name)).unwrap();
            folder.switch_to(name).unwrap();
        }
        let kept = [Path::new("3"), Path::new("2")];
        folder.remove_all_but(&kept).unwrap();
        let current = fs::read_link(folder.current()).unwrap();
        assert_eq!(current, Path::new("3"));
        assert!(folder.0.join("2").exists() && !folder.0.join("1").exists());
        fs::remove_dir_all(folder.0).unwrap();
    }
}
