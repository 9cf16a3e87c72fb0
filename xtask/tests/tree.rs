//! What holds for every file of the repository.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MAX_LINES: usize = 400;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// The files git has or would take; all but the build's where there is no git.
fn files() -> Vec<PathBuf> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root())
        .output();
    match listed {
        Ok(output) if output.status.success() => String::from_utf8(output.stdout)
            .unwrap()
            .split_terminator('\0')
            .map(PathBuf::from)
            .filter(|path| root().join(path).is_file())
            .collect(),
        _ => {
            let mut found = Vec::new();
            walk(Path::new(""), &mut found);
            found
        }
    }
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(root().join(dir)).unwrap() {
        let entry = entry.unwrap();
        let path = dir.join(entry.file_name());
        if !entry.file_type().unwrap().is_dir() {
            found.push(path);
        } else if !["target", ".git"].contains(&entry.file_name().to_str().unwrap()) {
            walk(&path, found);
        }
    }
}

/// Put together here, so that this file does not contain them.
fn banned() -> Vec<String> {
    let pairs = [
        ("TO", "DO"),
        ("FIX", "ME"),
        ("to", "do!("),
        ("unimpl", "emented!("),
        ("crates", ".io"),
        ("npmjs", ".org"),
        ("npmjs", ".com"),
        ("pypi", ".org"),
        ("python", "hosted.org"),
        ("docker", ".io"),
        ("gh", "cr.io"),
        ("quay", ".io"),
        ("debian", ".org"),
    ];
    pairs.map(|(start, end)| format!("{start}{end}")).to_vec()
}

/// Where `text` has something banned: line number and what.
fn banned_in(text: &str) -> Vec<(usize, String)> {
    let banned = banned();
    let lines = text.lines().enumerate();
    lines
        .flat_map(|(index, line)| {
            let found = banned
                .iter()
                .filter(move |banned| line.contains(banned.as_str()));
            found.map(move |banned| (index + 1, banned.clone()))
        })
        .collect()
}

#[test]
fn no_file_is_unfinished_or_names_a_registry() {
    let files = files();
    assert!(
        files
            .iter()
            .any(|path| path.ends_with("goqueue-core/src/lib.rs")),
        "{files:?}"
    );
    let mut found = Vec::new();
    // Cargo writes the lock file, with the registry in it.
    for path in files.iter().filter(|path| !path.ends_with("Cargo.lock")) {
        let bytes = fs::read(root().join(path)).unwrap();
        for (line, what) in banned_in(&String::from_utf8_lossy(&bytes)) {
            found.push(format!("{}:{line}: {what}", path.display()));
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn what_is_banned_is_found() {
    for banned in banned() {
        let text = format!("first line\nsecond: see {banned} for more\n");
        assert_eq!(banned_in(&text), [(2, banned)]);
    }
}

#[test]
fn no_source_file_is_longer_than_400_lines() {
    let too_long: Vec<String> = files()
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| {
            (
                path,
                fs::read_to_string(root().join(path))
                    .unwrap()
                    .lines()
                    .count(),
            )
        })
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(path, lines)| format!("{}: {lines} lines", path.display()))
        .collect();
    assert!(
        too_long.is_empty(),
        "split by idea:\n{}",
        too_long.join("\n")
    );
}
