//! Connecting: by every way there is, and what is said when it fails.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use goqueue_conformance::server::Certificates;
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
    let server = Server::with(&["--unixsocket", socket.to_str().unwrap()]).await;
    let at = |query: &str| format!("redis+unix://{}?{query}", socket.display());
    works(&connect(&at("db=1")).await).await;
    server.ask("ACL SETUSER app on >s3cret ~* &* +@all").await;
    works(&connect(&at("user=app&pass=s3cret&db=2")).await).await;
    let error = fails(&at("user=app&pass=hunter2")).await;
    assert!(error.to_string().contains("WRONGPASS"), "{error}");
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

/// A server that speaks only TLS, on this port.
async fn secure(certificates: &Certificates, port: u16, more: &[&str]) -> Server {
    let [ca, cert, key] = [certificates.ca(), certificates.cert(), certificates.key()]
        .map(|file| file.display().to_string());
    let port = port.to_string();
    let files = ["--tls-cert-file", &cert, "--tls-key-file", &key];
    let args = ["--tls-port", &port, "--tls-ca-cert-file", &ca];
    Server::with(&[&files[..], &args, more].concat()).await
}

fn table(url: &str, files: &[(&str, std::path::PathBuf)]) -> Config {
    let line =
        |(key, file): &(&str, std::path::PathBuf)| format!("{key} = \"{}\"\n", file.display());
    let lines: String = files.iter().map(line).collect();
    Config::from_toml(&format!("driver = \"{url}\"\n[redis]\n{lines}")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_checks_the_server_and_shows_a_certificate() {
    let (right, wrong) = (Certificates::for_localhost(), Certificates::for_localhost());
    let port = free_port();
    let _server = secure(&right, port, &[]).await;
    let url = format!("rediss://localhost:{port}");
    let ca = |of: &Certificates| ("ca_file", of.ca());
    let pair = |of: &Certificates| {
        let pair = [
            ("client_cert_file", of.cert()),
            ("client_key_file", of.key()),
        ];
        pair.to_vec()
    };
    let all = [vec![ca(&right)], pair(&right)].concat();
    let driver = RedisDriver::connect(&table(&url, &all)).await.unwrap();
    works(&driver).await;

    // The server asks for a certificate, of its own authority.
    let without = table(&url, &[ca(&right)]);
    assert!(RedisDriver::connect(&without).await.is_err());
    let foreign = [vec![ca(&right)], pair(&wrong)].concat();
    assert!(RedisDriver::connect(&table(&url, &foreign)).await.is_err());

    // Unknown without its authority, and with another one; and under a name that is not its own.
    let elsewhere = format!("rediss://127.0.0.1:{port}");
    let mistaken = [vec![ca(&wrong)], pair(&right)].concat();
    for config in [
        table(&url, &pair(&right)),
        table(&url, &mistaken),
        table(&elsewhere, &all),
    ] {
        let error = RedisDriver::connect(&config).await.unwrap_err();
        assert!(error.to_string().contains("certificate"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_and_a_database_can_be_had_over_tls() {
    let certificates = Certificates::for_localhost();
    let port = free_port();
    let server = secure(&certificates, port, &["--tls-auth-clients", "no"]).await;
    server.ask("ACL SETUSER app on >s3cret ~* &* +@all").await;
    let on = |login: &str, database: u8| {
        let url = format!("rediss://{login}@localhost:{port}/{database}");
        table(&url, &[("ca_file", certificates.ca())])
    };
    let driver = RedisDriver::connect(&on("app:s3cret", 3)).await.unwrap();
    works(&driver).await;
    driver.push(vec![job("q", "in 3")]).await.unwrap();
    let other = RedisDriver::connect(&on("app:s3cret", 4)).await.unwrap();
    assert!(take(&other, "q", 1).await.is_empty());
    let error = RedisDriver::connect(&on("app:hunter2", 3)).await;
    let error = error.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(
        !error.is_transient() && text.contains("WRONGPASS"),
        "{text}"
    );
    assert!(!text.contains("hunter2"), "{text}");
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
