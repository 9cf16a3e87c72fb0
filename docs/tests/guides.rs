//! The guides hang together: every page is in the table of contents, its code is compiled, and its
//! links lead somewhere.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn guides() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every page by its path below the guides; the folders hold tables and pictures of pages.
fn pages() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![guides()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the guides are there") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                let below = path.strip_prefix(guides()).expect("below the guides");
                found.insert(below.display().to_string());
            }
        }
    }
    found.remove("SUMMARY.md");
    found
}

/// What stands in the round brackets of each link.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let contents = fs::read_to_string(guides().join("SUMMARY.md")).unwrap();
    let listed: BTreeSet<_> = links(&contents).map(str::to_owned).collect();
    assert_eq!(listed, pages());
}

#[test]
fn the_code_of_every_page_is_compiled() {
    let compiled = include_str!("../lib.rs");
    for page in pages() {
        let included = format!("include_str!(\"src/{page}\")");
        assert!(compiled.contains(&included), "{page} is not in docs/lib.rs");
    }
}

/// The driver in the guide is the one that `list_driver.rs` holds to the contract.
#[test]
fn the_driver_of_the_guide_is_the_one_that_is_tested() {
    let guide = fs::read_to_string(guides().join("writing-a-driver.md")).unwrap();
    let (_, block) = guide.split_once("```rust\n").unwrap();
    let (block, _) = block.split_once("\n```\n").unwrap();
    let is_shown = |line: &&str| !line.starts_with("# ");
    let shown: Vec<_> = block.lines().filter(is_shown).collect();
    let tested: Vec<_> = include_str!("../list_driver.rs").lines().collect();
    assert_eq!(shown, tested);
}

#[test]
fn links_within_the_repository_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let documents = pages().into_iter().map(|page| guides().join(page));
    for document in documents.chain([root.join("examples/README.md")]) {
        let text = fs::read_to_string(&document).unwrap();
        let folder = document.parent().unwrap();
        for link in links(&text).filter(|link| !link.contains("://")) {
            let file = link.split('#').next().unwrap();
            assert!(folder.join(file).exists(), "{}: {link}", document.display());
        }
        for word in text.split('`').filter(|word| word.starts_with("examples/")) {
            let file = root.join(word);
            assert!(file.exists(), "{}: {word}", document.display());
        }
    }
}
