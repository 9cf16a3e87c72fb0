//! Group and deduplication ids: 1 to 128 visible ASCII characters on SQS, while a key of goqueue has
//! up to 256 bytes of any text.

use std::fmt::Write;

use goqueue_core::{JobId, driver::NewJob};
use sha2::{Digest, Sha256};

const LONGEST: usize = 128;
/// What a key that does not fit begins with, in front of its hash.
const HASHED: &str = "sha256~";

/// The key itself where SQS can carry it, and otherwise its hash.
pub(crate) fn fitted(key: &str) -> String {
    let fits = (1..=LONGEST).contains(&key.len())
        && key.bytes().all(|byte| byte.is_ascii_graphic())
        && !key.starts_with(HASHED);
    if fits {
        return key.to_owned();
    }
    let mut text = HASHED.to_owned();
    for byte in Sha256::digest(key.as_bytes()) {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The group of a job: its ordering key, or itself, so that jobs without a key wait for nobody.
pub(crate) fn group(job: &NewJob) -> String {
    match &job.ordering_key {
        Some(key) => fitted(key),
        None => job.id.to_string(),
    }
}

/// What a job is told from others by: its unique key, or itself.
pub(crate) fn dedup(job: &NewJob) -> String {
    match &job.unique {
        Some(unique) => fitted(&unique.key),
        None => job.id.to_string(),
    }
}

/// The deduplication id of a copy of one message. SQS drops a message whose id it has seen in the
/// last five minutes, so a copy under the id of its original would be lost; and a copy that is made
/// twice, because the first answer was lost, has to be one.
pub(crate) fn copy_of(id: JobId, message_id: &str) -> String {
    fitted(&format!("{id}~{message_id}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_fits_stays_readable() {
        for key in ["tenant-7", "a/b:c", &"k".repeat(128)] {
            assert_eq!(fitted(key), key);
        }
    }

    #[test]
    fn other_keys_become_hashes_that_differ() {
        let keys = [
            "with space",
            "kéy",
            "key\u{a0}",
            &"k".repeat(129),
            "sha256~abc",
            "",
        ];
        let mut all: Vec<_> = keys.iter().map(|key| fitted(key)).collect();
        assert!(
            all.iter()
                .all(|key| key.len() == 71 && key.starts_with(HASHED))
        );
        all.sort();
        all.dedup();
        assert_eq!(all.len(), keys.len());
        // FIPS 180-4, appendix of examples: SHA-256 of the empty text.
        assert!(fitted("").ends_with("27ae41e4649b934ca495991b7852b855"));
    }

    #[test]
    fn a_copy_has_an_id_of_its_own_that_is_the_same_each_time() {
        let id = JobId::new();
        assert_eq!(copy_of(id, "m1"), copy_of(id, "m1"));
        assert_ne!(copy_of(id, "m1"), copy_of(id, "m2"));
        assert!(copy_of(id, "m1").starts_with(&id.to_string()));
    }
}
