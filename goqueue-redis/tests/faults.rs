//! What goes wrong with a server, and how the driver goes on.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use goqueue_core::{
    Error,
    dead_letter::DeadReason,
    driver::{Driver, Inspect, LeaseOutcome, PushOutcome, Settlement, Verdict},
};
use goqueue_redis::RedisDriver;
use support::*;
use tokio::time::{Instant, sleep};

/// Repeats a call as a worker does, until it succeeds.
async fn persist<T, F: Future<Output = goqueue_core::Result<T>>>(mut call: impl FnMut() -> F) -> T {
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        match call().await {
            Ok(value) => return value,
            Err(error) => {
                assert!(error.is_transient(), "not transient: {error}");
                assert!(Instant::now() < patience, "still: {error}");
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

fn refused(outcomes: Vec<PushOutcome>) -> Error {
    match outcomes.into_iter().next() {
        Some(PushOutcome::Refused(error)) => error,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn a_lost_script_cache_is_not_noticed() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    for round in 0..3 {
        driver
            .push(vec![job("q", format!("{round}"))])
            .await
            .unwrap();
        server.ask("SCRIPT FLUSH").await;
        let taken = take(&driver, "q", 1).await;
        server.ask("SCRIPT FLUSH").await;
        assert_eq!(
            driver.settle(vec![ack(&taken[0].lease)]).await.unwrap(),
            [LeaseOutcome::Done]
        );
        server.ask("SCRIPT FLUSH").await;
        driver.maintain(&[queue("q")]).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_server_is_gone_on_with() {
    let mut server = Server::start().await;
    let driver = connect(&server.url()).await;
    driver
        .push(vec![job("q", "before"), job("q", "held")])
        .await
        .unwrap();
    let held = take(&driver, "q", 1).await;
    let waits = {
        let driver = driver.clone();
        tokio::spawn(async move {
            persist(|| driver.reserve(waiting("other", 1, Duration::from_secs(20)))).await
        })
    };
    sleep(Duration::from_millis(200)).await;
    server.kill();
    let error = driver.push(vec![job("q", "lost")]).await;
    let error = error.map(refused).unwrap_or_else(|error| error);
    assert!(error.is_transient(), "{error}");
    assert!(driver.ping().await.unwrap_err().is_transient());
    sleep(Duration::from_secs(1)).await;
    server.resume().await;

    // The first calls after it serves again succeed, without help.
    driver
        .push(vec![job("q", "after"), job("other", "woken")])
        .await
        .unwrap();
    driver.ping().await.unwrap();
    assert_eq!(
        driver.settle(vec![ack(&held[0].lease)]).await.unwrap(),
        [LeaseOutcome::Done]
    );
    assert_eq!(bodies(&take(&driver, "q", 5).await), ["held", "after"]);
    let began = Instant::now();
    assert_eq!(bodies(&waits.await.unwrap()), ["woken"]);
    assert!(
        began.elapsed() < Duration::from_secs(7),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_still_loading_is_waited_for() {
    // So slow that it takes six seconds, in which it answers that it is loading.
    let mut server = Server::with(&["--key-load-delay", "200"]).await;
    let driver = connect(&server.url()).await;
    driver.push(vec![job("q", "x")]).await.unwrap();
    let fill = "for n = 1, 30000 do redis.call('SET', 'filler:' .. n, n) end";
    server.run(redis::cmd("EVAL").arg(fill).arg(0)).await;
    server.kill();
    server.launch();
    // First there is nobody, then somebody who is loading; both are worth another try.
    let mut answers = Vec::new();
    let patience = Instant::now() + Duration::from_secs(60);
    while let Err(error) = driver.ping().await {
        assert!(error.is_transient(), "{error}");
        assert!(Instant::now() < patience, "still: {error}");
        answers.push(error.to_string());
        sleep(Duration::from_millis(5)).await;
    }
    let is_loading = |text: &String| text.contains("loading");
    assert!(answers.iter().any(is_loading), "{answers:?}");
    assert_eq!(bodies(&take(&driver, "q", 3).await), ["x"]);
}

#[tokio::test]
async fn a_full_server_refuses_jobs_and_lets_workers_empty_it() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    let mut jobs: Vec<_> = (0..300)
        .map(|n| job("q", vec![b'0' + (n % 10) as u8; 4_000]))
        .collect();
    jobs[0].ordering_key = Some("k".into());
    driver.push(jobs).await.unwrap();
    let mut late = job("q", "late");
    late.delay = Duration::from_millis(1);
    driver.push(vec![late]).await.unwrap();
    server.ask("CONFIG SET maxmemory 1mb").await;

    for outcome in [
        driver.push(vec![job("q", "x")]).await,
        driver
            .push(vec![{
                let mut keyed = job("q", "x");
                keyed.ordering_key = Some("k".into());
                keyed
            }])
            .await,
    ] {
        let error = refused(outcome.unwrap());
        assert!(error.is_transient());
        assert!(
            error.to_string().contains("the server is out of memory"),
            "{error}"
        );
    }

    let mut done = 0;
    while done < 301 {
        let taken = take(&driver, "q", 50).await;
        assert!(!taken.is_empty(), "after {done}");
        let leases = taken.iter().map(|job| job.lease.clone()).collect();
        assert!(
            driver
                .extend(leases, LEASE)
                .await
                .unwrap()
                .iter()
                .all(|o| *o == LeaseOutcome::Done)
        );
        let verdict = |n: usize| match n {
            0 => Verdict::Dead {
                reason: DeadReason::Permanent,
                error: "no".into(),
            },
            1 => Verdict::Retry {
                delay: Duration::ZERO,
                error: "again".into(),
            },
            2 => Verdict::Release {
                delay: Duration::from_millis(1),
            },
            _ => Verdict::Ack,
        };
        let settlements = taken.iter().enumerate().map(|(n, job)| Settlement {
            lease: job.lease.clone(),
            verdict: if done == 0 { verdict(n) } else { Verdict::Ack },
        });
        let outcomes = driver.settle(settlements.collect()).await.unwrap();
        assert!(
            outcomes
                .iter()
                .all(|outcome| *outcome == LeaseOutcome::Done)
        );
        done += taken.len() - if done == 0 { 2 } else { 0 };
        driver.maintain(&[queue("q")]).await.unwrap();
    }
    assert_eq!(driver.stats(&queue("q")).await.unwrap().dead, 1);
    let waits = driver
        .reserve(waiting("q", 1, Duration::from_millis(100)))
        .await
        .unwrap();
    assert!(waits.is_empty(), "a worker may wait on a full server");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_became_a_replica_is_waited_for() {
    let (server, other) = (Server::start().await, Server::start().await);
    let driver = connect(&server.url()).await;
    driver.push(vec![job("q", "x")]).await.unwrap();
    // Of a master that is there, so that the replica keeps serving what it has.
    server
        .ask(&format!("REPLICAOF 127.0.0.1 {}", free_port()))
        .await;
    let error = refused(driver.push(vec![job("q", "y")]).await.unwrap());
    assert!(error.is_transient(), "{error}");
    assert!(error.to_string().contains("read-only replica"), "{error}");
    assert!(
        driver
            .reserve(request("q", 1))
            .await
            .unwrap_err()
            .is_transient()
    );
    server.ask("REPLICAOF NO ONE").await;
    driver.push(vec![job("q", "y")]).await.unwrap();
    assert_eq!(bodies(&take(&driver, "q", 5).await), ["x", "y"]);
    drop(other);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failover_behind_one_address_is_followed() {
    let (old, new) = (Server::start().await, Server::start().await);
    let proxy = line_to(old.port).await;
    let driver = connect(&url_through(&proxy)).await;
    driver.push(vec![job("q", "x")]).await.unwrap();
    // The address now leads to the new master, while the old one, a replica, keeps its connections.
    old.ask(&format!("REPLICAOF 127.0.0.1 {}", new.port)).await;
    proxy.lead_to(format!("127.0.0.1:{}", new.port));
    driver.push(vec![job("q", "y")]).await.unwrap();
    assert_eq!(bodies(&take(&driver, "q", 5).await), ["y"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_reply_loses_no_job_and_stores_none_twice() {
    let server = Server::start().await;
    let proxy = line_to(server.port).await;
    let driver = connect(&url_through(&proxy)).await;
    driver.push(vec![job("q", "warm")]).await.unwrap();
    let warm = take(&driver, "q", 1).await;
    driver.settle(vec![ack(&warm[0].lease)]).await.unwrap();

    // A push: an error that leaves it open, and one stored job.
    proxy.lose_replies(1);
    let error = driver.push(vec![job("q", "x")]).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert_eq!(driver.stats(&queue("q")).await.unwrap().ready, 1);

    // A reserve: the job comes back when its lease ends, with the delivery counted.
    proxy.lose_replies(1);
    let mut short = request("q", 1);
    short.lease = Duration::from_millis(300);
    assert!(driver.reserve(short).await.unwrap_err().is_transient());
    assert!(
        take(&driver, "q", 1).await.is_empty(),
        "a live lease keeps others out"
    );
    let again = persist(|| driver.reserve(waiting("q", 1, Duration::from_secs(5)))).await;
    assert_eq!((bodies(&again), again[0].attempt), (vec!["x".into()], 2));

    // A settle: repeated, it is told as lost, and nothing happens twice.
    proxy.lose_replies(1);
    assert!(
        driver
            .settle(vec![ack(&again[0].lease)])
            .await
            .unwrap_err()
            .is_transient()
    );
    let repeated = persist(|| driver.settle(vec![ack(&again[0].lease)])).await;
    assert_eq!(repeated, [LeaseOutcome::Lost]);
    assert_eq!(server.keys().await, ["goqueue:queues"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_line_fails_in_time_and_comes_back() {
    let server = Server::start().await;
    let proxy = line_to(server.port).await;
    let driver = connect(&url_through(&proxy)).await;
    let waits = {
        let driver = driver.clone();
        tokio::spawn(async move {
            persist(|| driver.reserve(waiting("q", 1, Duration::from_secs(20)))).await
        })
    };
    sleep(Duration::from_millis(200)).await;
    proxy.cut();
    let began = Instant::now();
    let result = driver.push(vec![job("q", "x")]).await;
    assert!(
        result
            .map(refused)
            .unwrap_or_else(|error| error)
            .is_transient()
    );
    assert!(
        began.elapsed() < Duration::from_secs(6),
        "{:?}",
        began.elapsed()
    );
    sleep(Duration::from_millis(500)).await;
    proxy.restore();
    persist(|| driver.push(vec![job("q", "y")])).await;
    let woken = waits.await.unwrap();
    assert!(!woken.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_is_given_up_in_time() {
    let server = Server::start().await;
    let config = goqueue_core::Config::from_toml(&format!(
        "driver = \"{}\"\n[redis]\nresponse_timeout = \"300ms\"",
        server.url()
    ));
    let driver = RedisDriver::connect(&config.unwrap()).await.unwrap();
    driver.push(vec![job("q", "x")]).await.unwrap();
    server.freeze();
    let began = Instant::now();
    let error = driver.reserve(request("q", 1)).await.unwrap_err();
    assert!(
        error.is_transient() && began.elapsed() < Duration::from_secs(2),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("no answer from driver `redis` within 300ms"),
        "{error}"
    );
    server.thaw();
    // The reservation may have been carried out when the server went on.
    persist(|| driver.ping()).await;
    let stats = driver.stats(&queue("q")).await.unwrap();
    assert_eq!(stats.ready + stats.running, 1);
}
