//! A dead letter as the scripts store it:
//!
//! | bytes | what |
//! | --- | --- |
//! | 1 | format, 1 |
//! | 4 | deliveries |
//! | 6 | when it died, in milliseconds since the Unix epoch |
//! | 2 + n | the reason's name |
//! | 4 + n | the last error |
//! | 1, then 2 + n each | flags, ordering key, unique key, as in a record |
//! | the rest | the body |

use bytes::Bytes;
use goqueue_core::{DeadLetter, JobId, QueueName, dead_letter::DeadReason, driver::DeadLetterInfo};

use crate::record::{array, put_error, put_keys, put_short};

const FORMAT: u8 = 1;
const LONGEST_TIME: u64 = (1 << 48) - 1;

pub(crate) fn encode(dead: &DeadLetter, ordering: Option<&str>, unique: Option<&str>) -> Vec<u8> {
    let mut letter = Vec::with_capacity(64 + dead.error.len() + dead.body.len());
    letter.push(FORMAT);
    letter.extend_from_slice(&dead.attempts.to_be_bytes());
    letter.extend_from_slice(&dead.died_at.min(LONGEST_TIME).to_be_bytes()[2..]);
    put_short(&mut letter, dead.reason.as_str());
    put_error(&mut letter, &dead.error);
    put_keys(&mut letter, ordering, unique);
    letter.extend_from_slice(&dead.body);
    letter
}

/// Reads a stored letter. What cannot be read is shown as it is, as the body of an undecodable job.
pub(crate) fn decode(queue: &QueueName, id: JobId, letter: Bytes) -> DeadLetterInfo {
    read(queue, id, &letter).unwrap_or_else(|| DeadLetterInfo {
        id,
        queue: queue.clone(),
        reason: DeadReason::Undecodable,
        error: "what is stored is no dead letter of goqueue".into(),
        attempts: 0,
        died_at: 0,
        body: letter,
    })
}

fn read(queue: &QueueName, id: JobId, letter: &Bytes) -> Option<DeadLetterInfo> {
    if *letter.first()? != FORMAT {
        return None;
    }
    let attempts = u32::from_be_bytes(array(letter, 1)?);
    let [a, b, c, d, e, f] = array(letter, 5)?;
    let died_at = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
    let length = usize::from(u16::from_be_bytes(array(letter, 11)?));
    let mut at = 13 + length;
    let reason = std::str::from_utf8(letter.get(13..at)?)
        .ok()?
        .parse()
        .ok()?;
    let length = u32::from_be_bytes(array(letter, at)?) as usize;
    let error = String::from_utf8_lossy(letter.get(at + 4..at + 4 + length)?).into_owned();
    at += 4 + length;
    let flags = *letter.get(at)?;
    at += 1;
    for flag in [1, 2] {
        if flags & flag != 0 {
            at += 2 + usize::from(u16::from_be_bytes(array(letter, at)?));
        }
    }
    let body = (at <= letter.len()).then(|| letter.slice(at..))?;
    Some(DeadLetterInfo {
        id,
        queue: queue.clone(),
        reason,
        error,
        attempts,
        died_at,
        body,
    })
}
