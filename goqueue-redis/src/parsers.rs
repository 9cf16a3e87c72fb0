//! Whatever bytes come from outside, reading them gives a value or an error, and an error tells no
//! secret.

use bytes::Bytes;
use goqueue_core::{JobId, QueueName, driver::DriverUrl};
use proptest::{collection::vec, prelude::*};

use crate::{address::Address, letter, page, record::Record};

const SECRET: &str = "hunter2";

/// `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    let default = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => default,
        None => ProptestConfig {
            cases: 4_000,
            ..default
        },
    }
}

fn schemes() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "redis",
        "rediss",
        "redis-cluster",
        "rediss-cluster",
        "redis+unix",
        "REDIS",
        "mysql",
    ])
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_text_is_an_address_or_an_error(scheme in schemes(), rest in ".{0,40}") {
        let url = DriverUrl::new(format!("{scheme}://{rest}"));
        let _ = Address::parse(&url).map_err(|error| error.to_string());
    }

    #[test]
    fn what_nearly_is_an_address_shows_no_password(
        scheme in schemes(),
        user in "[a-z%]{0,3}",
        rest in "[a-z0-9@/:?#=&%,.\\[\\]-]{0,30}",
    ) {
        let url = DriverUrl::new(format!("{scheme}://{user}:{SECRET}@{rest}"));
        let shown = match Address::parse(&url) {
            Ok(address) => format!("{address} {address:?}"),
            Err(error) => format!("{error} {error:?}"),
        };
        prop_assert!(!shown.contains(SECRET), "{}", shown);
    }

    #[test]
    fn any_bytes_are_a_record_or_none(format in 0_u8..4, rest in vec(any::<u8>(), 0..80)) {
        let bytes = Bytes::from([&[format][..], &rest].concat());
        let _ = Record::read(&bytes);
        let queue = QueueName::new("q").unwrap();
        let letter = letter::decode(&queue, JobId::new(), bytes.clone());
        prop_assert!(letter.body.len() <= bytes.len());
    }

    #[test]
    fn any_text_is_a_cursor_or_an_error(text in ".{0,40}") {
        let _ = page::cursor::<page::TimeCursor>(&text).map_err(|error| error.to_string());
    }
}
