//! TLS, with certificates that are right and wrong, and passwords over it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use goqueue_conformance::server::Certificates;
use goqueue_core::{Config, Error};
use goqueue_mysql::MysqlDriver;
use support::*;

/// A server that has a certificate, and a user who must use TLS and has the password `hunter2`.
async fn secure(certificates: &Certificates) -> (Server, Database) {
    let option = |name: &str, file: std::path::PathBuf| format!("--{name}={}", file.display());
    let server = Server::with(&[
        &option("ssl-ca", certificates.ca()),
        &option("ssl-cert", certificates.cert()),
        &option("ssl-key", certificates.key()),
    ])
    .await;
    let database = Database::on(&server.url()).await;
    database
        .run("CREATE USER safe IDENTIFIED BY 'hunter2' REQUIRE SSL")
        .await;
    let grant = format!("GRANT ALL ON {}.* TO safe", database.name);
    database.run(&grant).await;
    (server, database)
}

fn url(database: &Database, login: &str, host: &str, options: &str) -> String {
    let url = database.url().replace("root@", &format!("{login}@"));
    format!("{}?{options}", url.replace("127.0.0.1", host))
}

async fn connect(url: &str) -> Result<MysqlDriver, Error> {
    let connected = MysqlDriver::connect(&Config::default().with_driver(url)).await;
    if let Err(error) = &connected {
        let text = format!("{error} {error:?}");
        assert!(!text.contains("hunter2"), "{text}");
    }
    connected
}

async fn is_refused(url: &str, because: &[&str]) {
    let error = connect(url).await.unwrap_err();
    let text = error.to_string();
    assert!(!error.is_transient(), "{text}");
    assert!(because.iter().any(|part| text.contains(part)), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_has_to_prove_who_it_is() {
    let (right, wrong) = (Certificates::for_localhost(), Certificates::for_localhost());
    let (_server, database) = secure(&right).await;
    let with = |host: &str, mode: &str, ca: &Certificates| {
        let options = format!("ssl-mode={mode}&ssl-ca={}", ca.ca().display());
        url(&database, "safe:hunter2", host, &options)
    };
    for (host, mode) in [("localhost", "verify_identity"), ("127.0.0.1", "verify_ca")] {
        let driver = connect(&with(host, mode, &right)).await.unwrap();
        push(&driver, vec![job("q", mode)]).await;
        assert_eq!(bodies(&driver, 1).await, [mode]);
    }
    for mode in ["verify_ca", "verify_identity"] {
        is_refused(&with("localhost", mode, &wrong), &["certificate"]).await;
    }
    // Its certificate is for another name.
    let elsewhere = with("127.0.0.1", "verify_identity", &right);
    is_refused(&elsewhere, &["certificate", "not valid for"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_goes_over_tls_and_not_without() {
    let certificates = Certificates::for_localhost();
    let (_server, database) = secure(&certificates).await;
    let with = |login: &str, options: &str| url(&database, login, "127.0.0.1", options);
    // TLS is used when it is there, without a word about it.
    for options in ["", "ssl-mode=required"] {
        let driver = connect(&with("safe:hunter2", options)).await.unwrap();
        push(&driver, vec![job("q", "x")]).await;
        assert_eq!(bodies(&driver, 1).await, ["x"]);
    }
    let plain = with("safe:hunter2", "ssl-mode=disabled");
    assert!(connect(&plain).await.is_err(), "the user must use TLS");
    let mistaken = with("safe:hunter22", "ssl-mode=required");
    is_refused(&mistaken, &["Access denied"]).await;
}
