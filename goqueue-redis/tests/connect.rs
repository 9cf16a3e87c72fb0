//! Connecting: by every way there is, and what is said when it fails.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{process::Command, time::Duration};

use goqueue_core::{Config, Error, Queue, driver::Driver};
use goqueue_redis::RedisDriver;
use support::*;
use tokio::time::Instant;

async fn fails(url: &str) -> Error {
    let began = Instant::now();
    let connected = RedisDriver::connect(&Config::default().with_driver(url)).await;
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    let error = connected
        .err()
        .unwrap_or_else(|| panic!("`{url}` connects"));
    assert!(
        !format!("{error} {error:?}").contains("hunter2"),
        "{error:?}"
    );
    error
}

async fn works(driver: &RedisDriver) {
    driver.push(vec![job("q", "x")]).await.unwrap();
    let taken = driver
        .reserve(waiting("q", 1, Duration::from_secs(2)))
        .await
        .unwrap();
    assert_eq!(bodies(&taken), ["x"]);
    driver.settle(vec![ack(&taken[0].lease)]).await.unwrap();
}

#[tokio::test]
async fn an_unreachable_server_is_named_and_worth_another_try() {
    let port = free_port();
    let error = fails(&format!("redis://:hunter2@127.0.0.1:{port}")).await;
    assert!(error.is_transient());
    let expected = format!("driver `redis` failed to connect: 127.0.0.1:{port}: ");
    assert!(error.to_string().starts_with(&expected), "{error}");
    let error = fails("redis://no-such-host.invalid").await;
    assert!(
        error.to_string().contains("no-such-host.invalid:6379: "),
        "{error}"
    );
    let error = fails("redis+unix:///no/such.sock?pass=hunter2").await;
    assert!(error.to_string().contains("/no/such.sock: "), "{error}");
    let error = fails(&format!("redis-cluster://:hunter2@127.0.0.1:{port}")).await;
    assert!(
        error.is_transient() && error.to_string().contains("failed to connect"),
        "{error}"
    );
}

#[tokio::test]
async fn a_refused_login_or_database_is_said_so() {
    let server = Server::with(&["--requirepass", "secret"]).await;
    let at = |login: &str, path: &str| format!("redis://{login}127.0.0.1:{}{path}", server.port);
    for url in [at(":hunter2@", ""), at("me:hunter2@", ""), at("", "")] {
        let error = fails(&url).await;
        assert!(!error.is_transient(), "{error}");
        let text = error.to_string();
        assert!(text.contains("failed to connect: 127.0.0.1:"), "{text}");
        assert!(
            text.contains("WRONGPASS") || text.contains("NOAUTH"),
            "{text}"
        );
    }
    let error = fails(&at(":secret@", "/99")).await;
    assert!(!error.is_transient(), "{error}");
    assert!(
        error.to_string().contains("DB index is out of range"),
        "{error}"
    );

    let driver = connect(&at(":secret@", "/3")).await;
    works(&driver).await;
    driver.push(vec![job("q", "in database 3")]).await.unwrap();
    assert!(
        take(&connect(&at(":secret@", "/2")).await, "q", 1)
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn a_user_with_only_the_needed_rights_is_enough() {
    let server = Server::start().await;
    server
        .ask(
            "ACL SETUSER app on >pw ~goqueue:* &goqueue:* -@all +@read +@write +@scripting \
             +@connection +@pubsub +time +info",
        )
        .await;
    let driver = connect(&format!("redis://app:pw@127.0.0.1:{}", server.port)).await;
    works(&driver).await;
    assert_eq!(driver.eviction_policy(), Some("noeviction"));
    server.ask("ACL SETUSER app -info ~other:* resetkeys").await;
    let driver = connect(&format!("redis://app:pw@127.0.0.1:{}", server.port)).await;
    assert_eq!(driver.eviction_policy(), None);
    let error = driver.push(vec![job("q", "x")]).await;
    let refused = format!("{error:?}");
    assert!(
        refused.contains("NOPERM") || refused.contains("permission"),
        "{refused}"
    );
}

#[tokio::test]
async fn an_eviction_policy_that_loses_jobs_is_reported() {
    let server = Server::with(&["--maxmemory-policy", "allkeys-lru"]).await;
    assert_eq!(
        connect(&server.url()).await.eviction_policy(),
        Some("allkeys-lru")
    );
}

#[tokio::test]
async fn a_unix_socket_works() {
    let socket = std::env::temp_dir().join(format!("goqueue-{}.sock", std::process::id()));
    let _server = Server::with(&["--unixsocket", socket.to_str().unwrap()]).await;
    works(&connect(&format!("redis+unix://{}?db=1", socket.display())).await).await;
}

#[tokio::test]
async fn a_node_of_a_cluster_and_a_lone_server_are_told_apart() {
    let server = Server::start().await;
    let error = fails(&server.url().replace("redis://", "redis-cluster://")).await;
    assert!(
        error.to_string().contains("no node of a cluster"),
        "{error}"
    );
    let bus = free_port().to_string();
    let node = Server::with(&["--cluster-enabled", "yes", "--cluster-port", &bus]).await;
    let error = fails(&node.url()).await;
    assert!(
        error.to_string().contains("allowed is `redis-cluster://`"),
        "{error}"
    );
}

/// A certificate of its own authority, made by the tool that servers are set up with.
fn certify(dir: &std::path::Path) {
    let script = "set -e
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-ca -keyout ca.key -out ca.pem
        openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout tls.key -out tls.csr
        printf 'subjectAltName=DNS:localhost,IP:127.0.0.1' > san
        openssl x509 -req -in tls.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
            -extfile san -out tls.pem";
    let made = Command::new("sh")
        .arg("-c")
        .arg(script)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_checks_the_server_and_shows_a_certificate() {
    let dir = std::env::temp_dir().join(format!("goqueue-tls-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    certify(&dir);
    let file = |name: &str| dir.join(name).display().to_string();
    let port = free_port();
    let _server = Server::with(&[
        "--tls-port",
        &port.to_string(),
        "--tls-cert-file",
        &file("tls.pem"),
        "--tls-key-file",
        &file("tls.key"),
        "--tls-ca-cert-file",
        &file("ca.pem"),
    ])
    .await;
    let table = |lines: &str| {
        let url = format!("rediss://localhost:{port}");
        Config::from_toml(&format!("driver = \"{url}\"\n[redis]\n{lines}")).unwrap()
    };
    let ca = format!("ca_file = \"{}\"\n", file("ca.pem"));
    let pair = format!(
        "client_cert_file = \"{}\"\nclient_key_file = \"{}\"\n",
        file("tls.pem"),
        file("tls.key")
    );
    let driver = RedisDriver::connect(&table(&format!("{ca}{pair}")))
        .await
        .unwrap();
    works(&driver).await;
    // The server asks for a certificate.
    assert!(RedisDriver::connect(&table(&ca)).await.is_err());
    let error = RedisDriver::connect(&table(&pair)).await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn a_queue_of_the_facade_runs_on_it() {
    let server = Server::start().await;
    let queue = Queue::new(connect(&server.url()).await);
    let id = queue
        .enqueue_raw("mail.welcome", r#"{"user":1}"#)
        .queue("mail")
        .await
        .unwrap();
    let driver = connect(&server.url()).await;
    let taken = take(&driver, "mail", 1).await;
    assert_eq!(format!("{id:?}"), format!("Stored({})", taken[0].lease.id));
}
