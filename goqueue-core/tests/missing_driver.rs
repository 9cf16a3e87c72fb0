//! A configuration file that asks for a driver this program was built without. The facade alone
//! registers drivers, so here there are none, whatever is built beside.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use goqueue_core::{Config, Error, Queue, log::Log};

async fn refused(driver: &str, text: &str) -> Error {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = path.join(format!("missing-{driver}-{}.toml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let config = Config::from_file(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    let error = Queue::connect(&config).await.unwrap_err();
    let of_the_log = Log::connect(&config).await.unwrap_err();
    assert_eq!(error.to_string(), of_the_log.to_string());
    error
}

#[tokio::test]
async fn each_driver_names_its_cargo_feature() {
    for (scheme, feature, rest) in [
        ("memory", "memory", ""),
        ("redis", "redis", ":hunter2@localhost/0"),
        ("rediss", "redis", ":hunter2@localhost/0"),
        ("redis+unix", "redis", "/run/redis.sock"),
        ("redis-cluster", "redis", "localhost"),
        ("rediss-cluster", "redis", "localhost"),
        ("mysql", "mysql", "root:hunter2@localhost/jobs"),
        ("sqs", "sqs", "eu-west-1/shop-?secret_access_key=hunter2"),
    ] {
        let text = format!("driver = \"{scheme}://{rest}\"\n[worker]\nconcurrency = 4\n");
        let error = refused(scheme, &text).await;
        assert!(
            matches!(error, Error::DriverNotCompiled { .. }),
            "{error:?}"
        );
        assert!(!error.is_transient(), "no wait mends it");
        assert_eq!(
            error.to_string(),
            format!(
                "driver `{scheme}` is not compiled in: enable the Cargo feature `{feature}` of \
                 `goqueue` (compiled in: none)"
            )
        );
    }
}
