//! Waiting: how fast a worker is woken, and what it costs while nothing happens.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use goqueue_core::driver::Driver;
use support::*;
use tokio::time::{Instant, sleep, timeout};

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_worker_is_woken_within_milliseconds() {
    let server = Server::start().await;
    let (producer, worker) = (connect(&server.url()).await, connect(&server.url()).await);
    let mut latencies = Vec::new();
    for round in 0..40 {
        let waits = {
            let worker = worker.clone();
            tokio::spawn(async move {
                let jobs = worker
                    .reserve(waiting("q", 10, Duration::from_secs(20)))
                    .await
                    .unwrap();
                (jobs, Instant::now())
            })
        };
        // The first round also subscribes.
        sleep(Duration::from_millis(if round == 0 { 300 } else { 20 })).await;
        let pushed = Instant::now();
        producer.push(vec![job("q", "x")]).await.unwrap();
        let (jobs, woken) = timeout(Duration::from_secs(5), waits)
            .await
            .unwrap()
            .unwrap();
        latencies.push(woken - pushed);
        worker.settle(vec![ack(&jobs[0].lease)]).await.unwrap();
    }
    latencies.sort();
    let (median, last) = (latencies[20], latencies[38]);
    println!("woken after {median:?} (median), {last:?} (p97)");
    assert!(median < Duration::from_millis(10), "{latencies:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_to_make_a_job_ready_wakes() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    let wait = |driver: &goqueue_redis::RedisDriver| {
        let driver = driver.clone();
        tokio::spawn(async move {
            let jobs = driver
                .reserve(waiting("q", 1, Duration::from_secs(20)))
                .await
                .unwrap();
            (jobs.into_iter().next().unwrap(), Instant::now())
        })
    };
    let mut keyed = [job("q", "first"), job("q", "second")];
    keyed
        .iter_mut()
        .for_each(|job| job.ordering_key = Some("k".into()));
    driver.push(keyed.to_vec()).await.unwrap();
    let first = take(&driver, "q", 5).await.remove(0);
    sleep(Duration::from_millis(200)).await;

    use goqueue_core::{dead_letter::DeadReason, driver::*};
    let settle = |lease: &Lease, verdict: Verdict| {
        let (driver, lease) = (driver.clone(), lease.clone());
        async move {
            driver
                .settle(vec![Settlement { lease, verdict }])
                .await
                .unwrap()
        }
    };
    // The next of a lane, a release, a retry at once, a retry that is due sooner than the next look,
    // a dead letter that is requeued.
    let waits = wait(&driver);
    sleep(Duration::from_millis(300)).await;
    let began = Instant::now();
    settle(&first.lease, Verdict::Ack).await;
    let (second, woken) = waits.await.unwrap();
    assert!(
        woken - began < Duration::from_millis(200),
        "{:?}",
        woken - began
    );

    let mut held = second;
    for verdict in [
        Verdict::Release {
            delay: Duration::ZERO,
        },
        Verdict::Retry {
            delay: Duration::ZERO,
            error: String::new(),
        },
        Verdict::Retry {
            delay: Duration::from_millis(100),
            error: String::new(),
        },
    ] {
        let waits = wait(&driver);
        sleep(Duration::from_millis(50)).await;
        let began = Instant::now();
        settle(&held.lease, verdict.clone()).await;
        let woken;
        (held, woken) = waits.await.unwrap();
        assert!(
            woken - began < Duration::from_millis(300),
            "{verdict:?}: {:?}",
            woken - began
        );
    }
    let (reason, error) = (DeadReason::Permanent, "no".to_owned());
    settle(&held.lease, Verdict::Dead { reason, error }).await;
    let waits = wait(&driver);
    sleep(Duration::from_millis(50)).await;
    let began = Instant::now();
    assert_eq!(
        driver
            .requeue_dead(&queue("q"), Selection::All)
            .await
            .unwrap(),
        1
    );
    let (held, woken) = waits.await.unwrap();
    assert!(
        woken - began < Duration::from_millis(200),
        "{:?}",
        woken - began
    );

    // A shorter lease, and one that a dead worker leaves behind.
    let waits = wait(&driver);
    sleep(Duration::from_millis(50)).await;
    let began = Instant::now();
    driver
        .extend(vec![held.lease.clone()], Duration::from_millis(100))
        .await
        .unwrap();
    let (_, woken) = waits.await.unwrap();
    assert!(
        woken - began < Duration::from_millis(300),
        "{:?}",
        woken - began
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_worker_costs_less_than_two_commands_a_second() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    // What a worker does with an empty queue: wait, and upkeep when it is asked for.
    let worker = {
        let driver = driver.clone();
        tokio::spawn(async move {
            let upkeep = async {
                loop {
                    let done = driver.maintain(&[queue("q")]).await.unwrap();
                    sleep(done.next.max(Duration::from_millis(1))).await;
                }
            };
            let fetch = async {
                loop {
                    driver
                        .reserve(waiting("q", 10, Duration::from_secs(20)))
                        .await
                        .unwrap();
                }
            };
            tokio::join!(upkeep, fetch)
        })
    };
    sleep(Duration::from_secs(1)).await;
    server.ask("CONFIG RESETSTAT").await;
    sleep(Duration::from_secs(10)).await;
    let calls = server.calls().await;
    worker.abort();
    // Those inside of scripts are counted by the server as well; what a worker sends is these.
    let is_sent = |name: &str| matches!(name, "evalsha" | "eval" | "ping" | "subscribe" | "hello");
    let sent: u64 = calls
        .iter()
        .filter(|(name, _)| is_sent(name))
        .map(|(_, calls)| calls)
        .sum();
    println!("{sent} commands in 10 s: {calls:?}");
    assert!((1..20).contains(&sent), "{calls:?}");
}

#[tokio::test]
async fn a_cancelled_wait_ends_at_once() {
    let server = Server::start().await;
    let driver = connect(&server.url()).await;
    let request = waiting("q", 1, Duration::from_secs(60));
    let cancel = request.cancel.clone();
    let began = Instant::now();
    tokio::spawn(async move {
        sleep(Duration::from_millis(200)).await;
        cancel.cancel();
    });
    assert!(driver.reserve(request).await.unwrap().is_empty());
    let ended = began.elapsed();
    assert!((200..600).contains(&ended.as_millis()), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_may_not_subscribe_polls_and_still_gets_jobs() {
    let server = Server::start().await;
    server
        .ask("ACL SETUSER worker on >pw ~* resetchannels +@all")
        .await;
    let url = server.url().replace("redis://", "redis://worker:pw@");
    let driver = connect(&url).await;
    let waits = {
        let driver = driver.clone();
        tokio::spawn(async move {
            driver
                .reserve(waiting("q", 1, Duration::from_secs(20)))
                .await
        })
    };
    sleep(Duration::from_millis(300)).await;
    driver.push(vec![job("q", "x")]).await.unwrap();
    let jobs = timeout(Duration::from_secs(3), waits)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(bodies(&jobs), ["x"]);
}
