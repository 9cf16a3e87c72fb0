use goqueue_core::Config;

use super::*;

fn connect(text: &str) -> Result<MemoryDriver, String> {
    let config = Config::from_toml(text).unwrap();
    MemoryDriver::connect(&config).map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_name_is_shared_and_no_name_is_private() {
    let (web, worker) = (
        connect("driver = 'memory://one'"),
        connect("driver = 'memory://one'"),
    );
    let (web, worker) = (web.unwrap(), worker.unwrap());
    web.store(vec![job("a")]).await;
    let waiting = ReserveRequest {
        wait: MINUTE,
        ..ask(1)
    };
    assert_eq!(worker.reserve(waiting).await.unwrap().len(), 1);

    let other = connect("driver = 'memory://two'").unwrap();
    assert!(other.queues().await.unwrap().is_empty());
    let private = connect("driver = 'memory://'").unwrap();
    private.store(vec![job("a")]).await;
    assert!(
        connect("driver = 'MEMORY://'")
            .unwrap()
            .queues()
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn a_named_store_goes_with_its_last_connection() {
    let first = connect("driver = 'memory://brief'").unwrap();
    let second = connect("driver = 'memory://brief'").unwrap();
    first.store(vec![job("a")]).await;
    first.close().await.unwrap();
    drop(first);
    assert_eq!(
        second.counts().await.ready,
        1,
        "closing one leaves the other open"
    );
    drop(second);
    let third = connect("driver = 'memory://brief'").unwrap();
    assert!(third.queues().await.unwrap().is_empty());
}

#[test]
fn connections_of_one_name_must_agree() {
    let small = "driver = 'memory://strict'\n[memory]\ncapacity = 5";
    let first = connect(small).unwrap();
    assert!(connect(small).is_ok());
    assert_eq!(
        connect("driver = 'memory://strict'").unwrap_err(),
        "config key `memory.capacity`: got 1000000, allowed is 5, with which `memory://strict` is \
         open already"
    );
    assert_eq!(
        connect(&format!("{small}\n[dead_letter]\nretention = '1h'")).unwrap_err(),
        "config key `dead_letter.retention`: got 3600s, allowed is 1209600s, with which \
         `memory://strict` is open already"
    );
    drop(first);
    assert!(connect("driver = 'memory://strict'").is_ok());
}

#[test]
fn anything_else_in_the_url_is_refused() {
    for url in [
        "memory://a/b",
        "memory:///",
        "memory://a?capacity=1",
        "memory://localhost:80",
        "memory://ä",
        "redis://a",
    ] {
        let error = connect(&format!("driver = '{url}'")).unwrap_err();
        let shown = url.replace("capacity=1", "***");
        let start = format!("config key `driver`: got `{shown}`, allowed is `memory://` or ");
        assert!(error.starts_with(&start), "{error}");
    }
    let error = connect("driver = 'memory://user:hunter2@a'").unwrap_err();
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn the_table_is_checked() {
    assert_eq!(
        connect("[memory]\ncapacity = 0").unwrap_err(),
        "config key `memory.capacity`: got 0, allowed is 1 to 2147483648"
    );
    let error = connect("[memory]\ncapcity = 5").unwrap_err();
    assert!(
        error.contains("capcity") && error.contains("capacity"),
        "{error}"
    );
    assert!(
        connect("[memory]\ncapacity = 'many'")
            .unwrap_err()
            .contains("memory.capacity")
    );
    assert_eq!(
        connect("[memory]\ncapacity = 5")
            .unwrap()
            .shared
            .settings
            .capacity,
        5
    );
}

#[tokio::test]
async fn the_facade_connects_through_the_entry_function() {
    let driver = crate::connect(Config::default()).await.unwrap();
    assert_eq!(driver.capabilities().driver, "memory");
    driver.ping().await.unwrap();
    let config = Config::default().with_driver("memory://a/b");
    assert!(crate::connect(config).await.is_err());
}
