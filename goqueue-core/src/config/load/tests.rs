use std::time::Duration;

use serde::Deserialize;

use super::*;
use crate::{driver::DriverUrl, error::Error};

fn variables(pairs: &[(&str, &str)]) -> std::vec::IntoIter<(OsString, OsString)> {
    pairs
        .iter()
        .map(|(n, v)| ((*n).into(), (*v).into()))
        .collect::<Vec<_>>()
        .into_iter()
}

/// With no file but the one that the variables name.
fn from_environment(variables: impl Iterator<Item = (OsString, OsString)>) -> Result<Config> {
    super::from_environment(variables, None)
}

fn message(toml: &str) -> String {
    from_toml(toml).unwrap_err().to_string()
}

#[test]
fn the_documented_file_reads_as_documented() {
    let config = from_toml(
        r#"
        driver = "redis://127.0.0.1:6379/0"
        [worker]
        concurrency = 7
        lease = "45s"
        shutdown_grace = "1m"
        queues = { critical = 6, default = 3, low = 1 }
        [retry]
        max_attempts = 4
        initial_delay = "3s"
        multiplier = 3.0
        max_delay = "20m"
        jitter = 0.5
        [dead_letter]
        mode = "discard"
        retention = "7d"
        [redis]
        prefix = "app"
        "#,
    )
    .unwrap();
    assert_eq!(config.driver, DriverUrl::new("redis://127.0.0.1:6379/0"));
    assert_eq!(config.worker.concurrency, 7);
    assert_eq!(config.worker.lease, Duration::from_secs(45));
    assert_eq!(config.worker.shutdown_grace, Duration::from_secs(60));
    assert_eq!(config.worker.queues.values().sum::<u32>(), 10);
    assert_eq!(config.retry.attempts(), Some(4));
    assert_eq!(
        config.dead_letter.retention,
        Duration::from_secs(7 * 24 * 3600)
    );
}

#[test]
fn variables_win_over_nothing_and_are_named_in_errors() {
    let config = from_environment(variables(&[
        ("GOQUEUE_DRIVER", "memory://"),
        ("GOQUEUE_WORKER__CONCURRENCY", "5"),
        ("GOQUEUE_WORKER__LEASE", "90s"),
        ("GOQUEUE_WORKER__QUEUES__CRITICAL", "6"),
        ("GOQUEUE_TEST_REDIS_URL", "redis://ignored"),
        ("PATH", "/bin"),
    ]))
    .unwrap();
    assert_eq!(config.worker.concurrency, 5);
    assert_eq!(config.worker.lease, Duration::from_secs(90));
    assert_eq!(config.worker.queues.len(), 1);

    let error = from_environment(variables(&[("GOQUEUE_WORKER__LEASE", "soon")])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "config key `worker.lease` (GOQUEUE_WORKER__LEASE): invalid value: string \"soon\", expected \
         a duration with its unit, such as \"500ms\", \"30s\", \"5m\" or \"1h 30m\""
    );
}

#[test]
fn a_misspelt_variable_is_an_error_too() {
    let error = from_environment(variables(&[("GOQUEUE_WORKER__LEESE", "1s")])).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("config key `worker.leese` (GOQUEUE_WORKER__LEESE): "),
        "{text}"
    );
    assert!(
        text.contains("expected one of `concurrency`, `lease`"),
        "{text}"
    );
}

#[test]
fn an_unknown_key_names_itself_and_what_is_allowed() {
    let text = message("[worker]\nconcurency = 3");
    assert!(text.contains("`worker.concurency`"), "{text}");
    assert!(
        text.contains("expected one of `concurrency`, `lease`, `shutdown_grace`"),
        "{text}"
    );
    assert!(message("colour = 1").contains("unknown field `colour`"));
    // Also one that sounds like a secret.
    let text = message("drivers = \"mysql://u:hunter2@db\"");
    assert!(
        text.contains("unknown field `drivers`, expected one of `driver`"),
        "{text}"
    );
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn a_value_of_another_type_is_answered_in_words() {
    for (given, expected) in [
        (
            "[retry]\nmax_attempts = \"five\"",
            "string \"five\", expected a whole number from 0 to 4294967295",
        ),
        (
            "[retry]\njitter = \"some\"",
            "string \"some\", expected a number",
        ),
        (
            "[worker]\nstrict = \"yes\"",
            "string \"yes\", expected a boolean",
        ),
        (
            "[worker]\nconcurrency = -1",
            "integer `-1`, expected a whole number from 0 on",
        ),
    ] {
        let text = message(given);
        assert!(text.ends_with(expected), "{text}");
    }
}

#[test]
fn an_error_in_the_table_of_a_driver_says_where_it_was_set() {
    #[derive(Debug, Default, Deserialize)]
    struct Table {
        _size: u8,
    }
    let set = variables(&[
        ("GOQUEUE_REDIS___SIZE", "large"),
        ("GOQUEUE_DRIVER", "redis://h/zero"),
    ]);
    let config = from_environment(set).unwrap();
    let error = config
        .driver_table::<Table>("redis")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("config key `redis._size` (GOQUEUE_REDIS___SIZE): "),
        "{error}"
    );

    let refused = || Error::Config(ConfigError::new("driver", "got database `zero`"));
    let text = config.located(refused()).to_string();
    assert_eq!(
        text,
        "config key `driver` (GOQUEUE_DRIVER): got database `zero`"
    );
    let text = config
        .with_driver("redis://h/one")
        .located(refused())
        .to_string();
    assert_eq!(text, "config key `driver`: got database `zero`");
}

#[test]
fn values_out_of_range_say_what_is_allowed() {
    let cases = [
        (
            "[worker]\nconcurrency = 0",
            "`worker.concurrency`: got 0, allowed is 1 to 100000",
        ),
        (
            "[worker]\nlease = \"1ms\"",
            "`worker.lease`: got 1ms, allowed is 100ms or more",
        ),
        (
            "[worker]\nqueues = { a = 0 }",
            "`worker.queues.a`: got weight 0, allowed is 1 to 1000",
        ),
        (
            "[worker.queues]\n\"a b\" = 1",
            "`worker.queues.a b`: invalid queue name `a b`",
        ),
        (
            "[retry]\nmax_attempts = 0",
            "`retry.max_attempts`: got 0, allowed is 1 or more",
        ),
        (
            "[retry]\nmultiplier = 0.5",
            "`retry.multiplier`: got 0.5, allowed is 1.0 or more",
        ),
        (
            "[retry]\njitter = 1.5",
            "`retry.jitter`: got 1.5, allowed is 0.0 to 1.0",
        ),
        (
            "[worker]\nconcurrency = -1",
            "`worker.concurrency`: invalid value: integer `-1`",
        ),
        (
            "[dead_letter]\nmode = \"drop\"",
            "unknown variant `drop`, expected `store` or `discard`",
        ),
        (
            "enqueue_timeout = \"0s\"",
            "`enqueue_timeout`: got 0ns, allowed is 1ms or more",
        ),
    ];
    for (toml, expected) in cases {
        let text = message(toml);
        assert!(text.contains(expected), "{toml:?} gave {text:?}");
    }
}

#[test]
fn a_file_that_is_no_toml_says_where() {
    let text = message("driver = ");
    assert!(text.starts_with("config: "), "{text}");
    assert!(text.contains("line 1"), "{text}");
}

#[test]
fn a_file_that_was_named_must_exist() {
    let set = variables(&[("GOQUEUE_CONFIG", "no/such/file.toml")]);
    let text = from_environment(set).unwrap_err().to_string();
    assert!(text.contains("no/such/file.toml"), "{text}");
}

#[test]
fn secrets_are_never_quoted() {
    #[derive(Debug, Default, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Table {
        #[serde(default)]
        _password: Option<bool>,
    }
    assert!(!message("driver = 31337").contains("31337"));
    let config = from_toml("[redis]\n_password = \"hunter2\"").unwrap();
    let error = config
        .driver_table::<Table>("redis")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`redis._password`") && !error.contains("hunter2"),
        "{error}"
    );
    assert!(!format!("{config:?}").contains("hunter2"));
    let config = from_toml("driver = \"mysql://u:hunter2@db/app?password=hunter2\"").unwrap();
    assert!(!format!("{config:?}").contains("hunter2"), "{config:?}");
}

#[test]
fn an_absent_table_is_the_default() {
    #[derive(Debug, Default, PartialEq, Deserialize)]
    struct Table {
        size: u8,
    }
    let config = from_toml("[memory]\nsize = 3").unwrap();
    assert_eq!(
        config.driver_table::<Table>("memory").unwrap(),
        Table { size: 3 }
    );
    assert_eq!(
        config.driver_table::<Table>("redis").unwrap(),
        Table::default()
    );
}

#[test]
fn settings_say_what_is_in_force_and_who_set_it() {
    let file = std::env::temp_dir().join(format!("goqueue-settings-{}.toml", std::process::id()));
    let toml = "driver = \"redis://u:hunter2@h\"\n[worker]\nlease = \"45s\"\nqueues = { mail = 3 }\n\
                [redis]\nprefix = \"app\"\npassword = \"hunter2\"\n";
    std::fs::write(&file, toml).unwrap();
    let set = variables(&[
        ("GOQUEUE_WORKER__LEASE", "1m 30s"),
        ("GOQUEUE_CONFIG", "/nowhere"),
    ]);
    let config = super::from_environment(set, Some(&file)).unwrap();
    std::fs::remove_file(&file).unwrap();

    let settings = config.settings();
    let path = file.display().to_string();
    let of = |key: &str| {
        let setting = settings.iter().find(|setting| setting.key == key).unwrap();
        (setting.value.as_str(), setting.source.as_deref())
    };
    assert_eq!(of("driver"), ("redis://***@h", Some(path.as_str())));
    assert_eq!(
        of("worker.lease"),
        ("1m 30s", Some("GOQUEUE_WORKER__LEASE"))
    );
    assert_eq!(of("worker.queues.mail"), ("3", Some(path.as_str())));
    assert_eq!(of("worker.concurrency"), ("32", None));
    assert_eq!(of("retry.max_delay"), ("10m", None));
    assert_eq!(of("dead_letter.mode"), ("store", None));
    assert_eq!(of("redis.prefix"), ("app", Some(path.as_str())));
    assert_eq!(of("redis.password"), ("***", Some(path.as_str())));
    assert!(!format!("{settings:?}{config:?}").contains("hunter2"));

    let settings = config.with_driver("memory://").settings();
    assert_eq!(settings[0].source.as_deref(), Some("the program"));
}
