//! Whatever bytes come from outside, reading them gives a value or an error, and an error tells no
//! secret.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use goqueue_core::{
    Config, Envelope, JobId, QueueName,
    driver::{DriverUrl, JobState},
};
use proptest::{collection::vec, prelude::*, sample::Index};

const SECRET: &str = "hunter2";

const SETTINGS: &str = r#"
driver = "redis://worker:hunter2@127.0.0.1:6379/0"
[worker]
concurrency = 32
lease = "60s"
shutdown_grace = "30s"
queues = { critical = 6, default = 3, low = 1 }
[retry]
max_attempts = 5
initial_delay = "2s"
multiplier = 2.0
max_delay = "10m"
jitter = 0.1
[dead_letter]
mode = "store"
retention = "14d"
[redis]
prefix = "goqueue"
"#;

fn envelope() -> Vec<u8> {
    let payload = serde_json::value::to_raw_value(&serde_json::json!({ "a": [1, null, "ü"] }));
    let queue = QueueName::new("mail").unwrap();
    let mut envelope = Envelope::new(JobId::new(), "mail.welcome", queue, payload.unwrap());
    envelope
        .headers
        .insert("traceparent".into(), "00-1-2-3".into());
    envelope.max_attempts = Some(5);
    envelope.unique_key = Some("key".into());
    envelope.encode().to_vec()
}

/// Changes to some text: bytes put in the place of others, or cut out.
fn edits() -> impl Strategy<Value = Vec<(Index, Index, Vec<u8>)>> {
    let put = prop_oneof![
        vec(any::<u8>(), 0..6),
        Just(b"\"".to_vec()),
        Just(b"-1e999".to_vec()),
        Just(b"18446744073709551616".to_vec()),
        Just(b"null".to_vec()),
        Just(b"[[".to_vec()),
        Just("\u{0}\u{1F600}".as_bytes().to_vec()),
    ];
    vec((any::<Index>(), any::<Index>(), put), 1..5)
}

fn edited(text: &[u8], edits: Vec<(Index, Index, Vec<u8>)>) -> Vec<u8> {
    let mut text = text.to_vec();
    for (from, length, put) in edits {
        let from = from.index(text.len() + 1);
        let to = (from + length.index(12)).min(text.len());
        text.splice(from..to, put);
    }
    text
}

/// `PROPTEST_CASES` asks for more.
fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => default,
        None => ProptestConfig { cases, ..default },
    }
}

proptest! {
    #![proptest_config(config(4_000))]

    #[test]
    fn any_bytes_are_an_envelope_or_an_error(bytes in vec(any::<u8>(), 0..200)) {
        let _ = Envelope::decode(&bytes).map_err(|error| error.to_string());
    }

    #[test]
    fn what_nearly_is_an_envelope_is_one_or_an_error(edits in edits()) {
        let bytes = edited(&envelope(), edits);
        if let Ok(envelope) = Envelope::decode(&bytes) {
            let again = Envelope::decode(&envelope.encode()).unwrap();
            prop_assert_eq!(envelope.encode(), again.encode());
        }
    }

    #[test]
    fn any_text_is_a_name_or_an_error(text in ".{0,80}") {
        let _ = QueueName::new(&text).map_err(|error| error.to_string());
        let _ = text.parse::<JobId>().map_err(|error| error.to_string());
        let _ = text.parse::<JobState>().map_err(|error| error.to_string());
    }

    #[test]
    fn any_text_is_a_url_that_shows_no_password(
        scheme in "[a-z+]{0,8}(://|:/|)",
        user in "[a-z@/:?#]{0,6}",
        rest in "[a-z0-9@/:?#=&%\\[\\]]{0,20}",
    ) {
        let url = DriverUrl::new(format!("{scheme}{user}:{SECRET}@{rest}"));
        let _ = (url.scheme(), url.options());
        let shown = format!("{url} {url:?}");
        prop_assert!(!shown.contains(SECRET), "{}", shown);
    }
}

proptest! {
    // Each is a hundred times the work.
    #![proptest_config(config(500))]

    #[test]
    fn any_text_is_settings_or_an_error(text in ".{0,200}") {
        let _ = Config::from_toml(&text).map_err(|error| error.to_string());
    }

    #[test]
    fn what_nearly_are_settings_are_some_or_an_error_without_secrets(edits in edits()) {
        let text = edited(SETTINGS.as_bytes(), edits);
        let text = String::from_utf8_lossy(&text);
        // Elsewhere it is no password.
        prop_assume!(text.contains(&format!(":{SECRET}@")));
        let shown = match Config::from_toml(&text) {
            Ok(config) => format!("{config:?}"),
            Err(error) => format!("{error} {error:?}"),
        };
        prop_assert!(!shown.contains(SECRET), "{}", shown);
    }
}
