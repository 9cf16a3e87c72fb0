//! Whatever text comes from outside, reading it gives a value or an error, and an error tells no
//! secret.

use goqueue_core::{
    JobId, QueueName,
    driver::{DriverUrl, Lease},
};
use proptest::prelude::*;

use crate::{config::connect_options, token::Token};

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

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_text_is_an_address_or_an_error(rest in ".{0,40}") {
        let url = DriverUrl::new(format!("mysql://{rest}"));
        let _ = connect_options(&url).map_err(|error| error.to_string());
    }

    #[test]
    fn what_nearly_is_an_address_shows_no_password(
        user in "[a-z%]{0,3}",
        rest in "[a-z0-9@/:?#=&%,.\\[\\]-]{0,30}",
        option in "(|\\?(ssl-mode|ssl-ca|socket|password)=[a-z]{0,4})",
    ) {
        let url = DriverUrl::new(format!("mysql://{user}:{SECRET}@{rest}{option}"));
        if let Err(error) = connect_options(&url) {
            let shown = format!("{error} {error:?}");
            prop_assert!(!shown.contains(SECRET), "{}", shown);
        }
    }

    #[test]
    fn any_text_is_a_token_of_this_driver_or_none(text in "[0-9.kpx-]{0,40}") {
        let queue = QueueName::new("q").unwrap();
        let lease = Lease { queue, id: JobId::new(), token: text.into() };
        prop_assert!(Token::of(&lease).is_none());
    }
}
