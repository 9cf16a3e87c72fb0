//! What goqueue did not store, where it expects its own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use goqueue_core::{
    dead_letter::DeadReason,
    driver::{Driver, Inspect, LeaseOutcome, PageRequest, Settlement, Verdict},
};
use support::*;
use tokio::time::sleep;

#[tokio::test]
async fn foreign_records_become_dead_letters_with_their_bytes() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    let mut foreign: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"hello".to_vec(),
        vec![0; 64],
        format!("{{\"json\":\"{}\"}}", "x".repeat(300)).into_bytes(),
    ];
    // A record whose keys claim to be longer than it is.
    let mut cut = vec![1; 28];
    cut[27] = 3;
    foreign.push(cut);
    for bytes in &foreign {
        server
            .run(redis::cmd("RPUSH").arg("goqueue:{q}:ready").arg(bytes))
            .await;
    }
    for bytes in &foreign {
        let mut scheduled = b"s".to_vec();
        scheduled.extend(bytes);
        server
            .run(
                redis::cmd("ZADD")
                    .arg("goqueue:{q}:scheduled")
                    .arg(1)
                    .arg(scheduled),
            )
            .await;
    }
    driver.push(vec![job("q", "good")]).await.unwrap();
    assert_eq!(driver.stats(&queue("q")).await.unwrap().ready, 11);
    let ready = goqueue_core::driver::JobState::Ready;
    let listed = driver
        .peek(&queue("q"), ready, PageRequest::first(50))
        .await
        .unwrap();
    assert_eq!(listed.items.len(), 11);

    let taken = take(&driver, "q", 50).await;
    assert_eq!(taken.len(), 11);
    assert!(taken.iter().all(|job| job.attempt == 1));
    let mut got: Vec<Vec<u8>> = taken.iter().map(|job| job.body.to_vec()).collect();
    let mut expected = foreign.clone();
    expected.extend(
        foreign
            .iter()
            .map(|bytes| [b"s", bytes.as_slice()].concat()),
    );
    expected.push(b"good".to_vec());
    got.sort();
    expected.sort();
    assert_eq!(got, expected);
    let bury = |job: &goqueue_core::driver::Reserved| Settlement {
        lease: job.lease.clone(),
        verdict: if job.body == "good" {
            Verdict::Ack
        } else {
            Verdict::Dead {
                reason: DeadReason::Undecodable,
                error: "no envelope".into(),
            }
        },
    };
    let outcomes = driver
        .settle(taken.iter().map(bury).collect())
        .await
        .unwrap();
    assert!(
        outcomes
            .iter()
            .all(|outcome| *outcome == LeaseOutcome::Done)
    );
    let letters = driver
        .dead_letters(&queue("q"), PageRequest::first(50))
        .await
        .unwrap();
    assert_eq!(letters.items.len(), 10);

    // A lease whose record was tampered with, and a letter that is none.
    driver.push(vec![job("q", "tampered")]).await.unwrap();
    let mut short = request("q", 1);
    short.lease = Duration::from_millis(100);
    driver.reserve(short).await.unwrap();
    let fields: Vec<Vec<u8>> =
        redis::from_redis_value(server.ask("HKEYS goqueue:{q}:running").await).unwrap();
    let mut tamper = redis::cmd("HSET");
    server
        .run(
            tamper
                .arg("goqueue:{q}:running")
                .arg(&fields[0])
                .arg("garbage"),
        )
        .await;
    sleep(Duration::from_millis(150)).await;
    let taken = take(&driver, "q", 5).await;
    assert_eq!(bodies(&taken), ["garbage"]);
    server
        .run(
            redis::cmd("HSET")
                .arg("goqueue:{q}:dead")
                .arg(vec![7_u8; 16])
                .arg("nothing"),
        )
        .await;
    server
        .run(
            redis::cmd("ZADD")
                .arg("goqueue:{q}:dead:order")
                .arg(0)
                .arg(vec![7_u8; 16]),
        )
        .await;
    let letters = driver
        .dead_letters(&queue("q"), PageRequest::first(50))
        .await
        .unwrap();
    assert!(letters.items.iter().any(|letter| letter.body == "nothing"));
    driver
        .requeue_dead(&queue("q"), goqueue_core::driver::Selection::All)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_key_of_another_type_stops_the_call_and_loses_nothing() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    driver.push(vec![job("q", "x")]).await.unwrap();
    for key in ["running", "leases", "waiting", "scheduled"] {
        server
            .ask(&format!("RPUSH goqueue:{{q}}:{key} foreign"))
            .await;
        let error = driver.maintain(&[queue("q")]).await.unwrap_err();
        assert!(!error.is_transient(), "{key}: {error}");
        assert!(
            error.to_string().contains("goqueue did not store"),
            "{key}: {error}"
        );
        let reserved = driver
            .reserve(waiting("q", 1, Duration::from_millis(10)))
            .await;
        assert!(reserved.is_err() || key == "waiting", "{key}");
        if let Ok(jobs) = reserved {
            let lease = jobs[0].lease.clone();
            let verdict = Verdict::Release {
                delay: Duration::ZERO,
            };
            server.ask(&format!("DEL goqueue:{{q}}:{key}")).await;
            driver
                .settle(vec![Settlement { lease, verdict }])
                .await
                .unwrap();
        }
        server.ask(&format!("DEL goqueue:{{q}}:{key}")).await;
        assert_eq!(driver.stats(&queue("q")).await.unwrap().ready, 1, "{key}");
    }
}
