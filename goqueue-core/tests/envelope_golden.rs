//! Envelopes as every released version stored them. They are read for ever: a file is added with
//! each version of the format, and none is changed.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::{collections::BTreeSet, path::Path, time::Duration};

use goqueue_core::{Envelope, JobId, RetryPolicy, job::ENVELOPE_VERSION};

const MINIMAL: &[u8] = include_bytes!("golden/v1-minimal.json");
const FULL: &[u8] = include_bytes!("golden/v1-full.json");
const UNKNOWN_FIELDS: &[u8] = include_bytes!("golden/v1-unknown-fields.json");
const EXACT_PAYLOAD: &[u8] = include_bytes!("golden/v1-exact-payload.json");

fn golden(bytes: &[u8]) -> Envelope {
    Envelope::decode(bytes).unwrap()
}

fn id() -> JobId {
    "0190a8f1-7c3e-7b4a-9d2e-3f1a5b6c7d8e".parse().unwrap()
}

fn same_bytes(envelope: &Envelope, golden: &[u8]) {
    let encoded = envelope.encode();
    assert_eq!(std::str::from_utf8(&encoded), std::str::from_utf8(golden));
}

#[test]
fn minimal() {
    let envelope = golden(MINIMAL);
    assert_eq!(envelope.v, 1);
    assert_eq!(envelope.id, id());
    assert_eq!(envelope.name, "ping");
    assert_eq!(envelope.queue.as_str(), "default");
    assert_eq!(envelope.payload.get(), "null");
    assert!(envelope.headers.is_empty());
    assert_eq!(envelope.enqueued_at, 1_720_000_000_000);
    assert_eq!(envelope.max_attempts, None);
    assert_eq!(envelope.retry, None);
    assert_eq!(envelope.timeout, None);
    assert_eq!(envelope.ordering_key, None);
    assert_eq!(envelope.unique_key, None);
    assert_eq!(envelope.unique_for, None);
    same_bytes(&envelope, MINIMAL);
}

#[test]
fn full() {
    let envelope = golden(FULL);
    assert_eq!(envelope.v, 1);
    assert_eq!(envelope.id, id());
    assert_eq!(envelope.name, "mail.welcome");
    assert_eq!(envelope.queue.as_str(), "mail");
    assert_eq!(
        envelope.payload.get(),
        r#"{"user_id":1,"tags":["new","eu"]}"#
    );
    let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let headers: Vec<_> = envelope
        .headers
        .iter()
        .map(|(k, v)| (k.as_str(), v.as_str()))
        .collect();
    assert_eq!(headers, [("tenant", "acme"), ("traceparent", traceparent)]);
    assert_eq!(envelope.enqueued_at, 1_720_000_000_000);
    assert_eq!(envelope.max_attempts, Some(5));
    let retry = RetryPolicy::exponential(Duration::from_secs(2))
        .multiplier(2.5)
        .max_delay(Duration::from_secs(600))
        .jitter(0.25)
        .max_attempts(7);
    assert_eq!(envelope.retry, Some(retry));
    assert_eq!(envelope.timeout, Some(Duration::from_secs(30)));
    assert_eq!(envelope.ordering_key.as_deref(), Some("account-7"));
    assert_eq!(envelope.unique_key.as_deref(), Some("welcome-1"));
    assert_eq!(envelope.unique_for, Some(Duration::from_secs(3600)));
    same_bytes(&envelope, FULL);
}

#[test]
fn fields_of_other_programs_are_no_error() {
    let envelope = golden(UNKNOWN_FIELDS);
    assert_eq!(envelope.id, id());
    assert_eq!(envelope.name, "mail.welcome");
    assert_eq!(envelope.queue.as_str(), "mail");
    assert_eq!(envelope.payload.get(), r#"{"user_id":1}"#);
    assert_eq!(envelope.enqueued_at, 1_720_000_000_000);
    // Jitter may be left out of a stored policy.
    let second = Duration::from_secs(1);
    let retry = RetryPolicy::exponential(second)
        .multiplier(1.0)
        .max_delay(second);
    assert_eq!(envelope.retry, Some(retry));
}

#[test]
fn a_payload_is_kept_byte_for_byte() {
    let envelope = golden(EXACT_PAYLOAD);
    let stored = std::str::from_utf8(EXACT_PAYLOAD).unwrap();
    let payload = stored.split_once(r#""payload":"#).unwrap().1;
    let payload = payload.rsplit_once(r#","enqueued_at""#).unwrap().0;
    assert_eq!(envelope.payload.get(), payload);
    for exactly in [
        "123456789012345678901234567890",
        "1E+400",
        "-0.0",
        r"\ud83d\ude80",
        "🚀",
    ] {
        assert!(
            payload.contains(exactly),
            "{exactly} is what this file is for"
        );
    }
    same_bytes(&envelope, EXACT_PAYLOAD);
}

#[test]
fn every_golden_file_is_read_by_a_test() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let found: BTreeSet<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let read = ["exact-payload", "full", "minimal", "unknown-fields"];
    let read: BTreeSet<_> = read.iter().map(|what| format!("v1-{what}.json")).collect();
    assert_eq!(found, read);
    assert_eq!(
        ENVELOPE_VERSION, 1,
        "a new version needs golden files of its own"
    );
}

#[test]
fn a_newer_version_is_told_apart_from_damage() {
    for (version, golden) in [("2", MINIMAL), ("4294967295", FULL), ("0", MINIMAL)] {
        let newer = std::str::from_utf8(golden).unwrap();
        let newer = newer.replacen(r#""v":1"#, &format!(r#""v":{version}"#), 1);
        assert_eq!(
            Envelope::decode(newer.as_bytes()).unwrap_err().to_string(),
            format!("job envelope of version {version}, this program reads 1 to 1"),
        );
    }
    let reshaped = br#"{"v":2,"job":{"id":7}}"#;
    assert_eq!(
        Envelope::decode(reshaped).unwrap_err().to_string(),
        "job envelope of version 2, this program reads 1 to 1",
    );
}

#[test]
fn what_is_no_envelope_says_what_is_wrong_and_where() {
    let told = |bytes: &[u8]| Envelope::decode(bytes).unwrap_err().to_string();
    assert_eq!(
        told(b""),
        "not a job envelope: EOF while parsing a value at line 1 column 0"
    );
    assert_eq!(
        told(b"\xff\xfe\0"),
        "not a job envelope: expected value at line 1 column 1"
    );
    assert_eq!(
        told(b"\"aGVsbG8=\""),
        "not a job envelope: invalid type: string \"aGVsbG8=\", expected struct Envelope at line 1 \
         column 10",
    );
    assert_eq!(
        told(b"{\"v\":1}"),
        "not a job envelope: missing field `id` at line 1 column 7"
    );
    let cut = &FULL[..FULL.len() - 1];
    assert!(told(cut).starts_with("not a job envelope: EOF while parsing an object at line 1"));

    let minimal = std::str::from_utf8(MINIMAL).unwrap();
    let queue = told(minimal.replace("default", "two words").as_bytes());
    assert_eq!(
        queue,
        "not a job envelope: invalid queue name `two words`: 1 to 64 ASCII letters, digits, `_`, \
         `-` or `.` at line 1 column 84",
    );
}
