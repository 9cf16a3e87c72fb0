//! What goes wrong with a server, and how the driver goes on.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use goqueue_core::{
    Error,
    dead_letter::DeadReason,
    driver::{Driver, Inspect, LeaseOutcome, PageRequest, PushOutcome, Settlement, Verdict},
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
    let proxy = Proxy::to(old.port).await;
    let driver = connect(&proxy.url()).await;
    driver.push(vec![job("q", "x")]).await.unwrap();
    // The address now leads to the new master, while the old one, a replica, keeps its connections.
    old.ask(&format!("REPLICAOF 127.0.0.1 {}", new.port)).await;
    proxy.lead_to(new.port);
    driver.push(vec![job("q", "y")]).await.unwrap();
    assert_eq!(bodies(&take(&driver, "q", 5).await), ["y"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_reply_loses_no_job_and_stores_none_twice() {
    let server = Server::start().await;
    let proxy = Proxy::to(server.port).await;
    let driver = connect(&proxy.url()).await;
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
    let proxy = Proxy::to(server.port).await;
    let driver = connect(&proxy.url()).await;
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
    server.signal("STOP");
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
    server.signal("CONT");
    // The reservation may have been carried out when the server went on.
    persist(|| driver.ping()).await;
    let stats = driver.stats(&queue("q")).await.unwrap();
    assert_eq!(stats.ready + stats.running, 1);
}

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

#[tokio::test]
async fn a_backlog_of_due_retries_is_promoted_fast_and_by_several_at_once() {
    const JOBS: usize = 100_000;
    let server = Server::with(&["--appendfsync", "everysec"]).await;
    let driver = connect(&server.url()).await;
    for chunk in 0..JOBS / 1_000 {
        let jobs = (0..1_000).map(|n| {
            let mut job = job("q", format!("{:0100}", chunk * 1_000 + n));
            job.delay = Duration::from_millis(10);
            job
        });
        driver.push(jobs.collect()).await.unwrap();
    }
    sleep(Duration::from_millis(20)).await;
    let began = Instant::now();
    let pollers = (0..3).map(|_| {
        let driver = driver.clone();
        tokio::spawn(async move {
            let mut promoted = 0;
            loop {
                let done = driver.maintain(&[queue("q")]).await.unwrap();
                promoted += done.promoted;
                if !done.next.is_zero() {
                    return promoted;
                }
            }
        })
    });
    let mut promoted = 0;
    for poller in pollers.collect::<Vec<_>>() {
        promoted += poller.await.unwrap();
    }
    let rate = JOBS as f64 / began.elapsed().as_secs_f64();
    println!("{rate:.0} promoted a second");
    assert_eq!(promoted, JOBS as u64);
    assert_eq!(driver.stats(&queue("q")).await.unwrap().ready, JOBS as u64);
    assert!(rate > 50_000.0, "{rate:.0} a second");
}
