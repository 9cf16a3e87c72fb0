//! The log, as a program meets it through the facade.

#![cfg(feature = "memory")]

use std::time::Duration;

use goqueue::{
    Config, Error,
    log::{Log, NewMessage, Published, SubscriptionConfig},
};

fn message(id: &str) -> NewMessage {
    NewMessage::new(id, "{}", "p")
}

#[tokio::test]
async fn a_url_names_a_log() {
    let one = Log::connect_url("memory://facade-log").await.unwrap();
    let other = Log::connect_url("memory://facade-log").await.unwrap();
    let alone = Log::connect_url("memory://").await.unwrap();
    one.publish("t", [message("a")]).await.unwrap();
    let again = other.publish("t", [message("a")]).await.unwrap();
    assert_eq!(again, [Published::Duplicate { offset: 1 }]);
    let first = alone.publish("t", [message("a")]).await.unwrap();
    assert_eq!(first, [Published::Stored { offset: 1 }]);
    assert!(one.ping().await.is_ok());
}

#[tokio::test]
async fn a_url_without_a_log_is_told() {
    let error = async |url: &str| Log::connect_url(url).await.unwrap_err();
    let unknown = error("nosql://x").await;
    assert!(matches!(unknown, Error::UnknownDriver { .. }), "{unknown}");
    let redis = error("redis://:hunter2@127.0.0.1/0").await;
    if cfg!(feature = "redis") {
        assert!(matches!(redis, Error::Unsupported { .. }), "{redis}");
        assert!(redis.to_string().contains("the message log"), "{redis}");
    } else {
        assert!(matches!(redis, Error::DriverNotCompiled { .. }), "{redis}");
    }
    assert!(!redis.to_string().contains("hunter2"), "{redis}");
    let bad = error("memory://no name").await;
    assert!(matches!(bad, Error::Config(_)), "{bad}");
}

#[tokio::test]
async fn what_cannot_be_subscribed_to_is_named() {
    let log = Log::connect(&Config::default()).await.unwrap();
    let mut config = SubscriptionConfig::new("s", "g");
    config.lease_duration = Duration::ZERO;
    let refused = log.subscribe("t", config).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "invalid setting `lease_duration`: got 0ns, allowed is 20ms to 365 days"
    );
    // Nothing was registered.
    assert!(log.admin().topics().await.unwrap().is_empty());
}
