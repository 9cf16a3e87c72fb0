//! The attributes that goqueue puts on a message, and how a body of any bytes becomes a text.
//!
//! | attribute | type | what |
//! | --- | --- | --- |
//! | `goqueue.id` | String | the job |
//! | `goqueue.base` | Number | attempts spent on earlier copies of the message |
//! | `goqueue.due_in` | Number | milliseconds from the sending until it is due, when `DelaySeconds` cannot say it |
//! | `goqueue.due` | Number | the same on a later copy: milliseconds since the Unix epoch, by the service's clock |
//! | `goqueue.encoding` | String | `base64` or `empty`, for a body that SQS would not carry |
//! | `goqueue.dedup` | String | FIFO: the deduplication id of the first copy |
//! | `goqueue.group` | String | FIFO: the group of a dead letter's job, whose letter is in a group of its own |
//!
//! A dead letter has `goqueue.reason`, `goqueue.attempts`, `goqueue.queue`, `goqueue.error` and
//! `goqueue.died_at` (milliseconds since the Unix epoch) too. Attributes of others are kept.

use std::{borrow::Cow, collections::HashMap};

use aws_sdk_sqs::types::MessageAttributeValue;
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use goqueue_core::{Error, JobId};

use crate::{
    driver::NAME,
    limits::{MAX_ATTRIBUTES, attribute_size, is_allowed, size},
};

/// Attributes of one message, in the order in which they matter.
pub(crate) type Attributes = Vec<(String, MessageAttributeValue)>;

const OURS: &str = "goqueue.";
pub(crate) const ID: &str = "goqueue.id";
pub(crate) const BASE: &str = "goqueue.base";
pub(crate) const DUE_IN: &str = "goqueue.due_in";
pub(crate) const DUE: &str = "goqueue.due";
pub(crate) const ENCODING: &str = "goqueue.encoding";
pub(crate) const DEDUP: &str = "goqueue.dedup";
pub(crate) const GROUP: &str = "goqueue.group";
pub(crate) const REASON: &str = "goqueue.reason";
pub(crate) const ATTEMPTS: &str = "goqueue.attempts";
pub(crate) const QUEUE: &str = "goqueue.queue";
pub(crate) const ERROR: &str = "goqueue.error";
pub(crate) const DIED_AT: &str = "goqueue.died_at";

/// Less than this of an error is not worth an attribute.
const SHORTEST_ERROR: usize = 16;

/// A text attribute. SQS knows no empty ones, and not every character.
pub(crate) fn text(name: &str, value: &str) -> Option<(String, MessageAttributeValue)> {
    let value: String = value
        .chars()
        .map(|character| {
            if is_allowed(character) {
                character
            } else {
                '\u{fffd}'
            }
        })
        .collect();
    attribute(name, "String", value)
}

pub(crate) fn number(name: &str, value: u64) -> Option<(String, MessageAttributeValue)> {
    attribute(name, "Number", value.to_string())
}

fn attribute(name: &str, kind: &str, value: String) -> Option<(String, MessageAttributeValue)> {
    if value.is_empty() {
        return None;
    }
    let value = MessageAttributeValue::builder()
        .data_type(kind)
        .string_value(value);
    // The builder refuses only an attribute without a type.
    Some((name.to_owned(), value.build().ok()?))
}

/// A body as SQS carries it, and the name of the encoding when it is not the body itself.
pub(crate) fn encoded(body: &Bytes) -> (Cow<'_, str>, Option<&'static str>) {
    match std::str::from_utf8(body) {
        Ok("") => (Cow::Borrowed("-"), Some("empty")),
        Ok(text) if text.chars().all(is_allowed) => (Cow::Borrowed(text), None),
        _ => (Cow::Owned(BASE64.encode(body)), Some("base64")),
    }
}

fn decoded(text: String, encoding: Option<&str>) -> Bytes {
    match encoding {
        Some("empty") => Bytes::new(),
        // What only claims to be encoded is kept as it is.
        Some("base64") => BASE64
            .decode(&text)
            .unwrap_or_else(|_| text.into_bytes())
            .into(),
        _ => text.into(),
    }
}

/// What a message's attributes say.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    ours: HashMap<String, String>,
    /// Those of others.
    pub(crate) foreign: Attributes,
}

impl Marks {
    pub(crate) fn read(attributes: Option<HashMap<String, MessageAttributeValue>>) -> Self {
        let mut marks = Self::default();
        for (name, value) in attributes.unwrap_or_default() {
            match (name.starts_with(OURS), value.string_value()) {
                (true, Some(text)) => {
                    marks.ours.insert(name, text.to_owned());
                }
                _ => marks.foreign.push((name, value)),
            }
        }
        marks.foreign.sort_by(|one, two| one.0.cmp(&two.0));
        marks
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.ours.get(name).map(String::as_str)
    }

    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.parse().ok()
    }

    /// The job; that of a stranger's message comes from the message's own id.
    pub(crate) fn id(&self, message_id: &str) -> JobId {
        let parse = |text: &str| uuid::Uuid::parse_str(text).ok();
        let id = self.text(ID).and_then(parse).or_else(|| parse(message_id));
        id.unwrap_or_else(|| uuid::Uuid::from_u128(fnv1a(message_id)))
            .into()
    }

    pub(crate) fn body(&self, text: String) -> Bytes {
        decoded(text, self.text(ENCODING))
    }
}

/// FNV-1a over 128 bits (Fowler, Noll and Vo; RFC 9923), for a message id that is no UUID.
fn fnv1a(text: &str) -> u128 {
    text.bytes().fold(
        0x6c62_272e_07bb_0142_62b8_2175_6295_c58d,
        |hash: u128, byte| {
            (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
        },
    )
}

/// The body and the attributes of a job's message, or why SQS cannot take it.
pub(crate) fn job_message(
    id: JobId,
    body: &Bytes,
    marks: impl IntoIterator<Item = Option<(String, MessageAttributeValue)>>,
    foreign: &Attributes,
    limit: usize,
) -> Result<(String, Attributes), Error> {
    let (text_body, encoding) = encoded(body);
    let encoding = encoding.and_then(|encoding| text(ENCODING, encoding));
    let own = [encoding, text(ID, &id.to_string())];
    let mut attributes: Attributes = own.into_iter().chain(marks).flatten().collect();
    // A stranger's message that is sent again may bring ten of its own; those of goqueue have to be
    // there, for they say which attempt this is.
    let room = MAX_ATTRIBUTES - attributes.len();
    if foreign.len() > room {
        tracing::warn!(job = %id, dropped = foreign.len() - room, "attributes of a foreign message dropped");
    }
    attributes.extend(foreign.iter().take(room).cloned());
    let size = size(&text_body, &attributes);
    if size > limit {
        return Err(Error::PayloadTooLarge {
            name: id.to_string(),
            driver: NAME,
            size,
            limit,
        });
    }
    Ok((text_body.into_owned(), attributes))
}

/// The same of a dead letter. Its body and what others put on it go first; of what goqueue has to
/// say, as much as there is room for.
pub(crate) fn letter_message(
    body: &Bytes,
    foreign: &Attributes,
    error: &str,
    marks: impl IntoIterator<Item = Option<(String, MessageAttributeValue)>>,
    limit: usize,
) -> Result<(String, Attributes), Error> {
    let (text_body, encoding) = encoded(body);
    let mut attributes = foreign.clone();
    attributes.truncate(MAX_ATTRIBUTES);
    attributes.extend(encoding.and_then(|encoding| text(ENCODING, encoding)));
    let mut used = size(&text_body, &attributes);
    if used > limit || attributes.len() > MAX_ATTRIBUTES {
        return Err(Error::PayloadTooLarge {
            name: "dead letter".into(),
            driver: NAME,
            size: used,
            limit,
        });
    }
    for (name, value) in marks.into_iter().flatten() {
        let size = attribute_size(&name, &value);
        if attributes.len() < MAX_ATTRIBUTES && used + size <= limit {
            used += size;
            attributes.push((name, value));
        }
    }
    // Last, cut to what is left: a limit of characters would not do, they differ in size.
    let room = limit.saturating_sub(used + ERROR.len() + "String".len());
    if attributes.len() < MAX_ATTRIBUTES && room >= SHORTEST_ERROR.min(error.len()) {
        let whole = text(ERROR, error).and_then(|(_, value)| value.string_value);
        let whole = whole.unwrap_or_default();
        attributes.extend(text(ERROR, &whole[..whole.floor_char_boundary(room)]));
    }
    Ok((text_body.into_owned(), attributes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(attributes: &Attributes) -> Marks {
        Marks::read(Some(attributes.iter().cloned().collect()))
    }

    fn foreign(count: usize) -> Attributes {
        (0..count)
            .filter_map(|n| text(&format!("theirs.{n}"), "value"))
            .collect()
    }

    #[test]
    fn bodies_of_any_bytes_come_back() {
        let bodies: [&[u8]; 6] = [
            b"",
            b"-",
            b"{\"v\":1}",
            "é🦀\t\r\n".as_bytes(),
            b"\0\x01\xff",
            "\u{ffff}".as_bytes(),
        ];
        for body in bodies {
            let body = Bytes::copy_from_slice(body);
            let (text, attributes) =
                job_message(JobId::new(), &body, [], &Vec::new(), 1_000).unwrap();
            assert!(!text.is_empty() && text.chars().all(is_allowed));
            assert_eq!(read_back(&attributes).body(text), body);
        }
    }

    #[test]
    fn a_message_that_is_too_large_is_refused_with_its_size() {
        let body = Bytes::from("x".repeat(900));
        let error = job_message(JobId::new(), &body, [], &Vec::new(), 901).unwrap_err();
        let Error::PayloadTooLarge { size, limit, .. } = error else {
            panic!("{error}")
        };
        // `goqueue.id`, `String` and the 36 characters of an id.
        assert_eq!((size, limit), (900 + 10 + 6 + 36, 901));
    }

    #[test]
    fn a_strangers_message_has_the_id_of_the_message_and_keeps_what_it_brought() {
        let message_id = "5fea7756-0ea4-451a-a703-a558b933e274";
        let marks = read_back(&foreign(3));
        assert_eq!(marks.id(message_id).to_string(), message_id);
        assert_eq!(marks.foreign, foreign(3));
        assert_eq!(marks.id("no uuid"), marks.id("no uuid"));
        assert_ne!(marks.id("no uuid"), marks.id("another"));
        let corrupt = read_back(&vec![text(ID, "x").unwrap(), text(BASE, "many").unwrap()]);
        assert_eq!(corrupt.id(message_id).to_string(), message_id);
        assert_eq!(corrupt.number::<u32>(BASE), None);
    }

    #[test]
    fn ten_attributes_are_never_passed() {
        let marks = || [number(BASE, 3), number(DUE, 9), text(DEDUP, "k")];
        for count in [0, 6, 10] {
            let body = Bytes::from_static(b"\0");
            let (_, attributes) =
                job_message(JobId::new(), &body, marks(), &foreign(count), 10_000).unwrap();
            assert_eq!(attributes.len(), (5 + count).min(10));
            assert_eq!(read_back(&attributes).number(BASE), Some(3));
        }
        for count in [0, 6, 10] {
            let body = Bytes::from_static(b"body");
            let (_, attributes) =
                letter_message(&body, &foreign(count), "error", marks(), 10_000).unwrap();
            assert_eq!(attributes.len(), (4 + count).min(10));
            assert_eq!(
                read_back(&attributes).foreign,
                foreign(count),
                "theirs are kept"
            );
        }
    }

    #[test]
    fn an_error_is_cut_so_that_the_letter_fits() {
        let body = Bytes::from("x".repeat(500));
        let error = "é\0".repeat(400);
        for limit in 500..700 {
            let (text, attributes) =
                letter_message(&body, &Vec::new(), &error, [number(ATTEMPTS, 5)], limit).unwrap();
            assert!(size(&text, &attributes) <= limit, "{limit}");
        }
        let (_, attributes) = letter_message(&body, &Vec::new(), &error, [], 1_000_000).unwrap();
        assert_eq!(
            read_back(&attributes).text(ERROR),
            Some(&*"é\u{fffd}".repeat(400))
        );
        assert!(letter_message(&body, &Vec::new(), "", [], 499).is_err());
    }
}
