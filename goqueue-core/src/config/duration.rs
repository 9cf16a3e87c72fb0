//! Durations as people write them.

use std::{fmt, time::Duration};

use serde::{
    Deserializer,
    de::{Error, Visitor},
};

struct Text;

impl Visitor<'_> for Text {
    type Value = Duration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"a duration with its unit, such as "500ms", "30s", "5m" or "1h 30m""#)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Duration, E> {
        humantime::parse_duration(text)
            .map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

/// For `#[serde(deserialize_with = …)]`: text such as `"30s"`.
///
/// # Errors
/// Says what was given and what a duration looks like.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    from.deserialize_str(Text)
}

/// The same for a setting that may be left out.
///
/// # Errors
/// Says what was given and what a duration looks like.
pub fn option<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    deserialize(from).map(Some)
}
