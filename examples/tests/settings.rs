//! The settings as `goqueue.toml` and the guide tell them are those that hold.

use std::collections::BTreeMap;

use goqueue::Config;

const FILE: &str = include_str!("../goqueue.toml");
const GUIDE: &str = include_str!("../../docs/src/configuration.md");

/// Every key of the file with its value, whether or not it is commented out.
fn keys() -> BTreeMap<String, String> {
    let (mut table, mut keys) = (String::new(), BTreeMap::new());
    for line in FILE.lines() {
        if let Some(name) = line.strip_prefix('[') {
            table = format!("{}.", name.trim_end_matches(']'));
        } else if let Some((key, value)) = line.strip_prefix("# ").and_then(|l| l.split_once(" = "))
            && key.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        {
            keys.insert(format!("{table}{key}"), value.to_owned());
        }
    }
    keys
}

/// The file with every key in force, but for those that have no default.
fn all_in_force() -> String {
    let lines = FILE.lines().map(|line| match line.strip_prefix("# ") {
        Some(setting) if is_default(setting) => setting,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn is_default(setting: &str) -> bool {
    let key = setting.split_once(" = ").map(|(key, _)| key);
    key.is_some_and(|key| !key.contains(' ') && key != "timeout" && key != "queues")
}

#[test]
fn the_file_as_it_is_shipped_changes_nothing() {
    let (shipped, default) = (Config::from_toml(FILE).unwrap(), Config::default());
    assert_eq!(
        format!("{shipped:?}").replace("{\"memory\"}", "{}"),
        format!("{default:?}")
    );
}

#[test]
fn the_values_in_the_file_are_the_defaults() {
    let text = all_in_force();
    assert_eq!(text.matches(" = ").count(), FILE.matches(" = ").count());
    let (all, default) = (Config::from_toml(&text).unwrap(), Config::default());
    assert_eq!(
        format!("{all:?}").replace("{\"memory\"}", "{}"),
        format!("{default:?}")
    );
    let memory: goqueue::memory::MemoryConfig = all.driver_table("memory").unwrap();
    assert_eq!(memory, goqueue::memory::MemoryConfig::default());
}

#[test]
fn the_keys_without_a_default_are_right_as_well() {
    let text: String = FILE
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter(|line| line.starts_with("timeout = ") || line.starts_with("queues = "))
        .fold("[worker]\n".into(), |text, line| text + line + "\n");
    let config = Config::from_toml(&text).unwrap();
    assert_eq!(config.worker.timeout.unwrap().as_secs(), 300);
    assert_eq!(config.worker.queues.len(), 3);
}

#[test]
fn the_guide_has_every_key_with_its_default_and_its_variable() {
    let rows: BTreeMap<_, _> = GUIDE
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .map(|row| {
            let cells: Vec<_> = row.split(" | ").collect();
            (cells[0].trim_end_matches('`').to_owned(), cells)
        })
        .collect();
    let keys = keys();
    assert_eq!(
        rows.keys().collect::<Vec<_>>(),
        keys.keys().collect::<Vec<_>>(),
        "the guide and goqueue.toml have different keys"
    );
    for (key, value) in keys {
        let variable = format!("`GOQUEUE_{}", key.to_ascii_uppercase().replace('.', "__"));
        assert!(
            rows[&key][2].starts_with(&variable),
            "{key}: {}",
            rows[&key][2]
        );
        if key != "worker.timeout" && key != "worker.queues" {
            assert_eq!(rows[&key][1], format!("`{value}`"), "{key}");
        }
    }
}
