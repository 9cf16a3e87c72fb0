//! Lone jobs that are pushed at the same time.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{collections::HashSet, time::Duration};

use goqueue_core::driver::{Driver, Inspect, PushOutcome, UniqueKey};
use support::*;

#[tokio::test(flavor = "multi_thread")]
async fn they_travel_together_and_each_gets_its_own_answer() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    driver.push(vec![job("q", "first")]).await.unwrap();
    server.ask("CONFIG RESETSTAT").await;
    let pushes = (0..300).map(|n: usize| {
        let driver = driver.clone();
        tokio::spawn(async move {
            let mut job = job("q", format!("{n}"));
            // Every third one is of one of ten keys.
            job.unique = n.is_multiple_of(3).then(|| UniqueKey {
                key: format!("{}", n % 10),
                hold: Duration::ZERO,
            });
            let id = job.id;
            (n, id, driver.push(vec![job]).await.unwrap().remove(0))
        })
    });
    let (mut stored, mut told) = (HashSet::new(), 0);
    for push in pushes.collect::<Vec<_>>() {
        match push.await.unwrap() {
            (_, id, PushOutcome::Stored) => assert!(stored.insert(id)),
            (n, _, PushOutcome::Duplicate(_)) => {
                assert_eq!(n % 3, 0);
                told += 1;
            }
            (.., other) => panic!("{other:?}"),
        }
    }
    assert_eq!((stored.len(), told), (210, 90));
    assert_eq!(driver.stats(&queue("q")).await.unwrap().ready, 211);
    let taken = take(&driver, "q", 500).await;
    assert!(taken[1..].iter().all(|job| stored.contains(&job.lease.id)));
    let calls = server.calls().await;
    let scripts: u64 = calls
        .iter()
        .filter(|(name, _)| name == "evalsha")
        .map(|(_, n)| n)
        .sum();
    assert!(scripts < 200, "300 pushes took {scripts} calls");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_gives_up_holds_nobody_else_up() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    driver.push(vec![job("q", "first")]).await.unwrap();
    server.freeze();
    // The two that are under way, and some behind them; all give up.
    for n in 0..5 {
        let push = driver.push(vec![job("q", format!("given up {n}"))]);
        assert!(
            tokio::time::timeout(Duration::from_millis(50), push)
                .await
                .is_err()
        );
    }
    let waits = {
        let driver = driver.clone();
        tokio::spawn(async move { driver.push(vec![job("q", "patient")]).await })
    };
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.thaw();
    let outcome = tokio::time::timeout(Duration::from_secs(10), waits)
        .await
        .unwrap()
        .unwrap();
    assert!(matches!(outcome.unwrap()[..], [PushOutcome::Stored]));
    let taken = take(&driver, "q", 10).await;
    assert!(bodies(&taken).contains(&"patient".to_owned()));
}
