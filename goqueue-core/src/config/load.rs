//! Layers a file and variables, and turns what does not fit into a precise error.

use std::{collections::BTreeMap, env, ffi::OsString, path::Path};

use config::{Environment, File, FileFormat};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Config, ConfigError, DEFAULT_FILE, FILE_VARIABLE, raw::RawConfig, settings::Sources};
use crate::error::Result;

const PREFIX: &str = "GOQUEUE_";
const TEST_PREFIX: &str = "GOQUEUE_TEST_";

/// Where a key was set, for messages.
type Origin<'a> = &'a dyn Fn(&str) -> Option<String>;

pub(super) fn from_environment(
    variables: impl Iterator<Item = (OsString, OsString)>,
    file: Option<&Path>,
) -> Result<Config> {
    let (mut named, mut settings) = (None, BTreeMap::new());
    for (name, value) in variables {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        if name == FILE_VARIABLE {
            named = Some(value);
        } else if !name.starts_with(TEST_PREFIX) {
            let value = value.into_string().map_err(|_| ConfigError {
                key: key_of(name),
                origin: Some(name.into()),
                problem: "the value is not UTF-8".into(),
            })?;
            settings.insert(name.to_owned(), value);
        }
    }
    let file = match (file, named) {
        (Some(path), _) => Some(path.to_owned()),
        (None, Some(path)) => Some(path.into()),
        (None, None) => Some(Path::new(DEFAULT_FILE).to_owned()).filter(|path| path.exists()),
    };
    let mut layers = config::Config::builder();
    if let Some(path) = &file {
        layers = layers.add_source(file_source(path)?);
    }
    let variables: config::Map<String, String> = settings
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    layers = layers.add_source(
        Environment::with_prefix("GOQUEUE")
            .prefix_separator("_")
            .separator("__")
            .try_parsing(true)
            .source(Some(variables)),
    );
    let origin = |key: &str| {
        let set = settings.keys().find(|name| key == key_of(name));
        set.cloned()
            .or_else(|| file.as_ref().map(|path| path.display().to_string()))
    };
    finish(layers, &origin)
}

pub(super) fn from_file(path: &Path) -> Result<Config> {
    let layers = config::Config::builder().add_source(file_source(path)?);
    finish(layers, &|_| Some(path.display().to_string()))
}

pub(super) fn from_toml(text: &str) -> Result<Config> {
    finish(
        config::Config::builder().add_source(File::from_str(text, FileFormat::Toml)),
        &|_| None,
    )
}

/// `GOQUEUE_WORKER__LEASE` is `worker.lease`.
fn key_of(variable: &str) -> String {
    variable[PREFIX.len()..]
        .to_ascii_lowercase()
        .replace("__", ".")
}

/// Reads the file here, since the layering library's message for a missing one names no reason.
fn file_source(path: &Path) -> Result<File<config::FileSourceString, FileFormat>, ConfigError> {
    let fail = |problem: String| ConfigError {
        key: String::new(),
        origin: Some(path.display().to_string()),
        problem,
    };
    let text = std::fs::read_to_string(path).map_err(|error| {
        let directory = env::current_dir().unwrap_or_default();
        fail(format!(
            "cannot be read from {}: {error}",
            directory.display()
        ))
    })?;
    Ok(File::from_str(&text, FileFormat::Toml))
}

fn finish(
    layers: config::ConfigBuilder<config::builder::DefaultState>,
    origin: Origin<'_>,
) -> Result<Config> {
    let broken = |error: config::ConfigError| ConfigError {
        key: String::new(),
        origin: origin(""),
        problem: without_source(&error.to_string()),
    };
    let value: Value = layers
        .build()
        .and_then(|c| c.try_deserialize())
        .map_err(broken)?;
    let mut sources = Sources::default();
    sources.add_all(&value, origin);
    let raw: RawConfig = read(value, "", origin)?;
    let config = Config::try_from(raw).map_err(|mut error| {
        error.origin = origin(&error.key);
        error
    })?;
    Ok(Config { sources, ..config })
}

/// What the TOML library says without the line it quotes, which may hold a password. The quote is
/// set off by lines that begin with a number or nothing and a `|`.
fn without_source(message: &str) -> String {
    let is_quote = |line: &&str| {
        let rest = line
            .trim_start()
            .trim_start_matches(|c: char| c.is_ascii_digit());
        rest.trim_start().starts_with('|')
    };
    let lines: Vec<_> = message
        .lines()
        .filter(|line| !is_quote(line))
        .map(str::trim)
        .collect();
    lines.join(": ")
}

/// Reads `value` as a `T` whose keys lie under `prefix`.
pub(super) fn read<T: DeserializeOwned>(
    value: Value,
    prefix: &str,
    origin: Origin<'_>,
) -> Result<T, ConfigError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let key = match (prefix, path.as_str()) {
            ("", path) => path.to_owned(),
            (prefix, ".") => prefix.to_owned(),
            (prefix, path) => format!("{prefix}.{path}"),
        };
        let said = in_words(error.inner().to_string());
        // What is said of an unknown key names the keys there are, and no value.
        let problem = if is_secret(&key) && !said.starts_with("unknown field `") {
            "the value does not fit (it is not shown, since it may be a secret)".into()
        } else {
            said
        };
        ConfigError {
            origin: origin(&key),
            key,
            problem,
        }
    })
}

/// What a type of Rust takes, for people who write a file.
const TYPES: [(&str, &str); 6] = [
    ("expected u8", "expected a whole number from 0 to 255"),
    ("expected u16", "expected a whole number from 0 to 65535"),
    (
        "expected u32",
        "expected a whole number from 0 to 4294967295",
    ),
    ("expected u64", "expected a whole number from 0 on"),
    ("expected usize", "expected a whole number from 0 on"),
    ("expected f64", "expected a number"),
];

fn in_words(message: String) -> String {
    let replaced = TYPES
        .iter()
        .find_map(|(of_rust, words)| Some(message.strip_suffix(of_rust)?.to_owned() + words));
    replaced.unwrap_or(message)
}

/// Whether a message about this key must not quote its value. A URL may hold a password.
pub(super) fn is_secret(key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or(key);
    [
        "driver",
        "url",
        "password",
        "secret",
        "token",
        "key",
        "credential",
    ]
    .iter()
    .any(|word| last.contains(word))
}

#[cfg(test)]
mod tests;
