//! What only a cluster does: slots that move, and nodes that go.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use goqueue_core::driver::{Driver, Inspect};
use support::*;
use tokio::time::{Instant, sleep, timeout};

#[tokio::test(flavor = "multi_thread")]
async fn queues_of_all_nodes_are_served_and_woken() {
    let cluster = Cluster::start().await;
    let driver = connect(&cluster.url()).await;
    assert_eq!(driver.eviction_policy(), Some("noeviction"));
    let names: Vec<_> = (0..9).map(|n| format!("queue-{n}")).collect();
    driver
        .push(names.iter().map(|name| job(name, name.clone())).collect())
        .await
        .unwrap();
    for name in &names {
        assert_eq!(bodies(&take(&driver, name, 5).await), [name.as_str()]);
    }
    let queues: Vec<_> = driver
        .queues()
        .await
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(queues, names);

    // One subscription, to whichever node, hears of every queue.
    for name in &names {
        let waits = {
            let (driver, name) = (driver.clone(), name.clone());
            tokio::spawn(async move {
                driver
                    .reserve(waiting(&name, 1, Duration::from_secs(20)))
                    .await
                    .unwrap()
            })
        };
        sleep(Duration::from_millis(300)).await;
        let began = Instant::now();
        driver.push(vec![job(name, "x")]).await.unwrap();
        let jobs = timeout(Duration::from_secs(5), waits)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(bodies(&jobs), ["x"]);
        assert!(
            began.elapsed() < Duration::from_millis(400),
            "{name}: {:?}",
            began.elapsed()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_goes_on_while_its_slot_moves() {
    let cluster = Cluster::start().await;
    let driver = connect(&cluster.url()).await;
    driver
        .push((0..50).map(|n| job("q", format!("{n:02}"))).collect())
        .await
        .unwrap();
    let slot: u16 =
        redis::from_redis_value(cluster.nodes[0].ask("CLUSTER KEYSLOT q").await).unwrap();
    let owner = usize::from(slot > 5460) + usize::from(slot > 10_922);
    let (from, to) = (&cluster.nodes[owner], &cluster.nodes[(owner + 1) % 3]);
    let (source, target) = (
        from.text("CLUSTER MYID").await,
        to.text("CLUSTER MYID").await,
    );

    let works = {
        let driver = driver.clone();
        tokio::spawn(async move {
            let (mut done, mut pushed) = (Vec::new(), 50);
            let patience = Instant::now() + Duration::from_secs(20);
            while done.len() < 100 {
                assert!(Instant::now() < patience, "{} done", done.len());
                if pushed < 100
                    && let Ok(outcomes) = driver.push(vec![job("q", format!("{pushed:02}"))]).await
                    && matches!(outcomes[0], goqueue_core::driver::PushOutcome::Stored)
                {
                    pushed += 1;
                }
                match driver.reserve(request("q", 3)).await {
                    Ok(taken) if taken.is_empty() => sleep(Duration::from_millis(5)).await,
                    Ok(taken) => {
                        done.extend(bodies(&taken));
                        loop {
                            let acks = taken.iter().map(|job| ack(&job.lease)).collect();
                            match driver.settle(acks).await {
                                Ok(_) => break,
                                Err(error) => assert!(error.is_transient(), "{error}"),
                            }
                        }
                    }
                    Err(error) => assert!(error.is_transient(), "{error}"),
                }
            }
            done
        })
    };
    sleep(Duration::from_millis(20)).await;
    to.ask(&format!("CLUSTER SETSLOT {slot} IMPORTING {source}"))
        .await;
    from.ask(&format!("CLUSTER SETSLOT {slot} MIGRATING {target}"))
        .await;
    for _ in 0..100 {
        let keys: Vec<String> =
            redis::from_redis_value(from.ask(&format!("CLUSTER GETKEYSINSLOT {slot} 10")).await)
                .unwrap();
        if keys.is_empty() {
            break;
        }
        for key in keys {
            sleep(Duration::from_millis(20)).await;
            from.ask(&format!("MIGRATE 127.0.0.1 {} {key} 0 5000", to.port))
                .await;
        }
    }
    for node in [to, from] {
        node.ask(&format!("CLUSTER SETSLOT {slot} NODE {target}"))
            .await;
    }
    let mut done = works.await.unwrap();
    done.sort();
    assert_eq!(
        done,
        (0..100).map(|n| format!("{n:02}")).collect::<Vec<_>>()
    );
    assert!(driver.push(vec![job("q", "after")]).await.is_ok());
    assert_eq!(bodies(&take(&driver, "q", 1).await), ["after"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_goes_fails_its_queues_and_comes_back() {
    let mut cluster = Cluster::start().await;
    let driver = connect(&cluster.url()).await;
    let slot: u16 =
        redis::from_redis_value(cluster.nodes[0].ask("CLUSTER KEYSLOT q").await).unwrap();
    let owner = usize::from(slot > 5460) + usize::from(slot > 10_922);
    driver.push(vec![job("q", "x")]).await.unwrap();
    cluster.nodes[owner].kill();
    let began = Instant::now();
    let outcome = driver.push(vec![job("q", "y")]).await;
    let text = format!("{outcome:?}");
    assert!(
        text.contains("Refused") || outcome.is_err_and(|error| error.is_transient()),
        "{text}"
    );
    assert!(
        began.elapsed() < Duration::from_secs(6),
        "{:?}",
        began.elapsed()
    );
    cluster.nodes[owner].resume().await;
    cluster.is_well().await;
    let patience = Instant::now() + Duration::from_secs(10);
    loop {
        match driver.reserve(request("q", 5)).await {
            Ok(taken) => break assert_eq!(bodies(&taken)[0], "x"),
            Err(error) => assert!(error.is_transient() && Instant::now() < patience, "{error}"),
        }
        sleep(Duration::from_millis(50)).await;
    }
}
