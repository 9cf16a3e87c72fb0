//! A stored job: what its envelope says, and its payload in a form that can be read.

use std::fmt;

use goqueue::{
    Envelope,
    driver::{DeadLetterInfo, JobInfo},
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::json::{Content, DeadLetter, Job, millis};

/// Reads the stored bytes. What is no envelope is shown as it is.
pub(crate) fn content(body: &[u8]) -> Content {
    match Envelope::decode(body) {
        Ok(envelope) => Content {
            name: Some(envelope.name),
            enqueued_at: Some(envelope.enqueued_at),
            max_attempts: envelope.max_attempts,
            timeout_ms: envelope.timeout.map(millis),
            ordering_key: envelope.ordering_key,
            unique_key: envelope.unique_key,
            headers: envelope.headers,
            payload: Some(envelope.payload),
            unreadable: None,
            body: None,
        },
        Err(error) => Content {
            name: None,
            enqueued_at: None,
            max_attempts: None,
            timeout_ms: None,
            ordering_key: None,
            unique_key: None,
            headers: Default::default(),
            payload: None,
            unreadable: Some(error.to_string()),
            body: Some(String::from_utf8_lossy(body).into_owned()),
        },
    }
}

pub(crate) fn job(info: &JobInfo) -> Job {
    Job {
        id: info.id.to_string(),
        attempts: info.attempts,
        due_in_ms: millis(info.due_in),
        last_error: info.last_error.clone(),
        content: content(&info.body),
    }
}

pub(crate) fn dead_letter(info: &DeadLetterInfo) -> DeadLetter {
    DeadLetter {
        id: info.id.to_string(),
        queue: info.queue.to_string(),
        reason: info.reason.as_str(),
        error: info.error.clone(),
        attempts: info.attempts,
        died_at: info.died_at,
        content: content(&info.body),
    }
}

/// JSON over several lines. Keys stay in their order and numbers in their digits, which reading them
/// as values would change.
pub(crate) fn pretty(json: &RawValue) -> String {
    let mut text = String::new();
    write(json, 0, &mut text);
    text
}

fn write(json: &RawValue, depth: usize, text: &mut String) {
    let raw = json.get();
    match raw.as_bytes().first() {
        Some(b'{') => {
            let entries: Entries<'_> = serde_json::from_str(raw).unwrap_or_default();
            let put = |(name, value): &(String, &RawValue), text: &mut String| {
                text.push_str(&serde_json::Value::from(name.as_str()).to_string());
                text.push_str(": ");
                write(value, depth + 1, text);
            };
            block(["{", "}"], &entries.0, depth, text, put);
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(raw).unwrap_or_default();
            let put = |item: &&RawValue, text: &mut String| write(item, depth + 1, text);
            block(["[", "]"], &items, depth, text, put);
        }
        _ => text.push_str(raw),
    }
}

fn block<T>(
    [open, close]: [&str; 2],
    items: &[T],
    depth: usize,
    text: &mut String,
    put: impl Fn(&T, &mut String),
) {
    text.push_str(open);
    for (at, item) in items.iter().enumerate() {
        text.push_str(if at == 0 { "\n" } else { ",\n" });
        text.push_str(&"  ".repeat(depth + 1));
        put(item, text);
    }
    if !items.is_empty() {
        text.push('\n');
        text.push_str(&"  ".repeat(depth));
    }
    text.push_str(close);
}

/// An object's entries in their order.
#[derive(Default)]
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        from.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_keeps_its_order_and_its_digits() {
        let raw = r#"{"z":[1.10,{"a":12345678901234567890123}],"a":{},"b":[],"c":"x\u0007\"y"}"#;
        let json: Box<RawValue> = serde_json::from_str(raw).unwrap();
        let expected = r#"{
  "z": [
    1.10,
    {
      "a": 12345678901234567890123
    }
  ],
  "a": {},
  "b": [],
  "c": "x\u0007\"y"
}"#;
        assert_eq!(pretty(&json), expected);
    }

    #[test]
    fn what_is_no_envelope_is_shown_as_it_is() {
        let content = content(b"not a job");
        assert_eq!(content.body.as_deref(), Some("not a job"));
        assert!(
            content
                .unreadable
                .unwrap()
                .starts_with("not a job envelope")
        );
    }
}
