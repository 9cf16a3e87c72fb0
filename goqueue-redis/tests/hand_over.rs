//! A job that is pushed while a reservation of the same driver waits for it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use goqueue_core::{
    Result,
    driver::{Driver, Inspect, LeaseOutcome, Reserved},
};
use goqueue_redis::RedisDriver;
use support::*;
use tokio::{task::JoinHandle, time::sleep};

/// A reservation that has looked and found nothing.
async fn waits(driver: &RedisDriver) -> JoinHandle<Result<Vec<Reserved>>> {
    let driver = driver.clone();
    let waits = tokio::spawn(async move {
        let request = waiting("q", 10, Duration::from_secs(20));
        driver.reserve(request).await
    });
    sleep(Duration::from_millis(100)).await;
    waits
}

async fn scripts(server: &Server) -> u64 {
    let calls = server.calls().await;
    let scripts = calls.iter().filter(|(name, _)| name.starts_with("eval"));
    scripts.map(|(_, calls)| calls).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_stored_and_handed_over_in_one_call() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    driver.push(vec![job("q", "first")]).await.unwrap();
    let first = take(&driver, "q", 1).await.remove(0);
    for body in ["not known to the server", "known"] {
        let waits = waits(&driver).await;
        server.ask("CONFIG RESETSTAT").await;
        driver.push(vec![job("q", body)]).await.unwrap();
        let jobs = waits.await.unwrap().unwrap();
        let calls = scripts(&server).await;
        assert_eq!(bodies(&jobs), [body]);
        assert_eq!(jobs[0].attempt, 1);
        assert_eq!(driver.stats(&queue("q")).await.unwrap().running, 2);
        let settled = driver.settle(vec![ack(&jobs[0].lease)]).await.unwrap();
        assert_eq!(settled, [LeaseOutcome::Done]);
        // The server is told the text of a script once.
        let most = if body == "known" { 1 } else { 2 };
        assert_eq!(calls, most, "{body}");
    }
    driver.settle(vec![ack(&first.lease)]).await.unwrap();
    let left: Vec<_> = server.keys().await;
    let left: Vec<_> = left
        .iter()
        .filter(|key| !key.ends_with("waiting"))
        .collect();
    assert_eq!(left.len(), 1, "the names of the queues: {left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_with_others_before_it_takes_its_turn() {
    let server = Server::start().await;
    let (driver, other) = (connect(&server.url()).await, connect(&server.url()).await);
    driver.push(vec![job("q", "to be moved")]).await.unwrap();
    let ready = server.keys().await;
    let ready = ready.iter().find(|key| key.ends_with("ready")).unwrap();
    // Put aside, and back while nobody is told.
    server.ask(&format!("RENAME {ready} {ready}.aside")).await;
    let waits = waits(&driver).await;
    server.ask(&format!("RENAME {ready}.aside {ready}")).await;
    driver.push(vec![job("q", "next")]).await.unwrap();
    let jobs = waits.await.unwrap().unwrap();
    assert_eq!(bodies(&jobs)[0], "to be moved");
    if jobs.len() == 1 {
        assert_eq!(bodies(&take(&other, "q", 10).await), ["next"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_refuses_it_and_nobody_gets_it() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    let waits = waits(&driver).await;
    server.ask("CONFIG SET maxmemory 1").await;
    let outcome = driver.push(vec![job("q", "no room")]).await;
    let told = format!("{outcome:?}");
    assert!(told.contains("Refused") && told.contains("OOM"), "{told}");
    assert!(!waits.is_finished());
    server.ask("CONFIG SET maxmemory 0").await;
    driver.push(vec![job("q", "room")]).await.unwrap();
    assert_eq!(bodies(&waits.await.unwrap().unwrap()), ["room"]);
}
