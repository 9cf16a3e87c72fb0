use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::sys::signal::kill;
use nix::unistd::Pid;

const LOG_TAIL_LINES: usize = 20;

/// Where one instance of a service keeps its data and its log: `ROOT/NAME/PID/`, so that two runs
/// that share a target directory do not meet.
#[derive(Clone, Debug)]
pub struct Place {
    dir: PathBuf,
    log: PathBuf,
}

impl Place {
    /// An empty place for the service `name`. What earlier runs left there is removed.
    ///
    /// # Errors
    ///
    /// When a directory cannot be made or removed.
    pub fn create(root: &Path, name: &str) -> io::Result<Self> {
        let home = root.join(name);
        fs::create_dir_all(&home)?;
        for entry in fs::read_dir(&home)? {
            let entry = entry?;
            if !belongs_to_another_run(&entry.path()) {
                remove(&entry.path())?;
            }
        }
        let dir = home.join(std::process::id().to_string());
        let place = Self {
            log: dir.join(format!("{name}.log")),
            dir,
        };
        fs::create_dir_all(place.data())?;
        Ok(place)
    }

    /// The directory for the server's data.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// The file with everything the server has written to its standard output and error.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The last lines of the log.
    #[must_use]
    pub fn log_tail(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
    }

    /// Removes the data, and the log too unless it is to be kept.
    ///
    /// # Errors
    ///
    /// When a directory cannot be removed.
    pub fn clear(&self, keep_log: bool) -> io::Result<()> {
        remove(&if keep_log {
            self.data()
        } else {
            self.dir.clone()
        })
    }
}

/// Another run may be removing the same leftovers.
fn remove(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn belongs_to_another_run(dir: &Path) -> bool {
    let pid = dir
        .file_name()
        .and_then(|name| name.to_str())
        .and_then(|name| name.parse().ok());
    pid.is_some_and(|pid: u32| {
        pid != std::process::id()
            && i32::try_from(pid).is_ok_and(|pid| kill(Pid::from_raw(pid), None).is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(name: &str) -> PathBuf {
        let root = std::env::temp_dir().join(format!("xtask-place-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        root
    }

    #[test]
    fn a_new_place_is_empty_and_leaves_a_running_neighbour_alone() {
        let root = root("fresh");
        let parent = std::os::unix::process::parent_id().to_string();
        for dir in [parent.as_str(), "4000000", "leftover"] {
            fs::create_dir_all(root.join("redis").join(dir)).unwrap();
        }
        let first = Place::create(&root, "redis").unwrap();
        fs::write(first.data().join("old"), "old").unwrap();

        let second = Place::create(&root, "redis").unwrap();
        assert_eq!(fs::read_dir(second.data()).unwrap().count(), 0);
        let mut left: Vec<_> = fs::read_dir(root.join("redis"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let mut expected = vec![parent, std::process::id().to_string()];
        expected.sort();
        assert_eq!(left, expected);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn the_tail_is_the_last_lines_of_the_log() {
        let root = root("tail");
        let place = Place::create(&root, "redis").unwrap();
        assert_eq!(place.log_tail(), "");
        let lines: Vec<String> = (1..=30).map(|line| format!("line {line}")).collect();
        fs::write(place.log(), lines.join("\n")).unwrap();
        assert_eq!(place.log_tail(), lines[10..].join("\n"));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn clearing_keeps_only_the_log_when_asked() {
        let root = root("clear");
        let place = Place::create(&root, "redis").unwrap();
        fs::write(place.log(), "started").unwrap();
        place.clear(true).unwrap();
        assert!(place.log().exists() && !place.data().exists());
        fs::create_dir_all(place.data()).unwrap();
        place.clear(false).unwrap();
        assert!(!place.log().exists());
        fs::remove_dir_all(root).unwrap();
    }
}
