//! The record of a job as the scripts store it; `lua/record.lua` describes it.

use bytes::Bytes;
use goqueue_core::{JobId, driver::NewJob};

const FORMAT: u8 = 1;
const HEADER: usize = 28;
const ORDERING: u8 = 1;
const UNIQUE: u8 = 2;
const ERROR: u8 = 4;

/// Errors are kept up to this many bytes.
pub(crate) const MAX_ERROR: usize = 64 * 1024;

/// A stored job, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) id: JobId,
    /// Deliveries that have ended.
    pub(crate) attempts: u32,
    /// Whether it has an ordering or a unique key, which its end has to free.
    pub(crate) is_keyed: bool,
    pub(crate) last_error: Option<String>,
    pub(crate) body: Bytes,
}

impl Record {
    /// Reads a record without copying its body. `None` when the bytes are none.
    pub(crate) fn read(record: &Bytes) -> Option<Self> {
        if record.len() < HEADER || record[0] != FORMAT {
            return None;
        }
        let flags = record[27];
        let mut at = HEADER;
        for flag in [ORDERING, UNIQUE] {
            if flags & flag != 0 {
                at += 2 + usize::from(u16::from_be_bytes(array(record, at)?));
            }
        }
        let mut last_error = None;
        if flags & ERROR != 0 {
            let length = u32::from_be_bytes(array(record, at)?) as usize;
            let text = record.get(at + 4..at + 4 + length)?;
            last_error = Some(String::from_utf8_lossy(text).into_owned());
            at += 4 + length;
        }
        (at <= record.len()).then(|| Self {
            id: id_from(array(record, 7).unwrap_or_default()),
            attempts: u32::from_be_bytes(array(record, 23).unwrap_or_default()),
            is_keyed: flags & (ORDERING | UNIQUE) != 0,
            last_error,
            body: record.slice(at..),
        })
    }

    /// What cannot be read, as something that can be listed.
    pub(crate) fn foreign(bytes: Bytes) -> Self {
        let id = id_from([0; 16]);
        Self {
            id,
            attempts: 0,
            is_keyed: false,
            last_error: None,
            body: bytes,
        }
    }
}

/// The record of a new job from its id on; the script puts format and due time in front.
pub(crate) fn tail(job: &NewJob) -> Vec<u8> {
    let ordering = job.ordering_key.as_deref();
    let unique = job.unique.as_ref().map(|unique| unique.key.as_str());
    let keys = [ordering, unique]
        .into_iter()
        .flatten()
        .map(|key| 2 + key.len())
        .sum::<usize>();
    let mut tail = Vec::with_capacity(HEADER - 7 + keys + job.body.len());
    tail.extend_from_slice(job.id.as_uuid().as_bytes());
    tail.extend_from_slice(&0_u32.to_be_bytes());
    put_keys(&mut tail, ordering, unique);
    tail.extend_from_slice(&job.body);
    tail
}

/// The flags and the keys they announce.
pub(crate) fn put_keys(to: &mut Vec<u8>, ordering: Option<&str>, unique: Option<&str>) {
    // Keys are at most 256 bytes long; a longer one, which no queue lets through, is none.
    let [ordering, unique] =
        [ordering, unique].map(|key| key.filter(|key| u16::try_from(key.len()).is_ok()));
    to.push(u8::from(ordering.is_some()) * ORDERING + u8::from(unique.is_some()) * UNIQUE);
    for key in [ordering, unique].into_iter().flatten() {
        put_short(to, key);
    }
}

/// A text of at most 65,535 bytes with its length in front.
pub(crate) fn put_short(to: &mut Vec<u8>, text: &str) {
    to.extend_from_slice(&u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
    to.extend_from_slice(text.as_bytes());
}

/// An error's text, cut at [`MAX_ERROR`], with its length in front.
pub(crate) fn put_error(to: &mut Vec<u8>, error: &str) {
    let error = &error[..error.floor_char_boundary(MAX_ERROR)];
    to.extend_from_slice(&u32::try_from(error.len()).unwrap_or(u32::MAX).to_be_bytes());
    to.extend_from_slice(error.as_bytes());
}

pub(crate) fn id_from(bytes: [u8; 16]) -> JobId {
    uuid::Uuid::from_bytes(bytes).into()
}

/// `N` bytes from `at`, where there are so many.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use goqueue_core::{QueueName, driver::UniqueKey};

    use super::*;

    fn job() -> NewJob {
        NewJob {
            id: JobId::new(),
            queue: QueueName::new("q").unwrap(),
            body: Bytes::from_static(b"body"),
            delay: Duration::ZERO,
            ordering_key: Some("tenant".into()),
            unique: Some(UniqueKey {
                key: "once".into(),
                hold: Duration::ZERO,
            }),
        }
    }

    fn stored(tail: &[u8]) -> Vec<u8> {
        [&[FORMAT, 0, 0, 0, 0, 0, 9], tail].concat()
    }

    #[test]
    fn a_record_reads_as_it_was_written() {
        let job = job();
        let record = Record::read(&stored(&tail(&job)).into()).unwrap();
        assert_eq!(
            (record.id, record.attempts, record.is_keyed),
            (job.id, 0, true)
        );
        assert_eq!((record.last_error, record.body), (None, job.body));
    }

    #[test]
    fn whatever_is_cut_off_is_no_record_or_a_shorter_body() {
        let job = job();
        let mut bytes = stored(&tail(&job));
        bytes[27] |= ERROR;
        let keys_end = bytes.len() - 4;
        let mut error = Vec::new();
        put_error(&mut error, "went wrong");
        bytes.splice(keys_end..keys_end, error);
        let whole = Record::read(&bytes.clone().into()).unwrap();
        assert_eq!(whole.last_error.as_deref(), Some("went wrong"));
        for length in 0..bytes.len() - 4 {
            assert_eq!(
                Record::read(&bytes[..length].to_vec().into()),
                None,
                "{length}"
            );
        }
    }

    #[test]
    fn other_bytes_are_no_record() {
        for bytes in [&b""[..], b"hello", &[0; 40], &[b'{'; 300]] {
            assert_eq!(Record::read(&bytes.to_vec().into()), None);
        }
    }

    #[test]
    fn long_errors_are_cut_between_characters() {
        let mut bytes = Vec::new();
        put_error(&mut bytes, &"é".repeat(MAX_ERROR));
        assert_eq!(bytes.len(), 4 + MAX_ERROR);
        assert!(std::str::from_utf8(&bytes[4..]).is_ok());
    }
}
