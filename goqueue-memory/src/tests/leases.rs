use super::*;

#[tokio::test]
async fn a_settled_lease_is_lost_also_when_its_slot_is_used_again() {
    let driver = MemoryDriver::new();
    driver.store(vec![job("a")]).await;
    let old = driver.take_one().await;
    assert_eq!(driver.end(&old, ack()).await, LeaseOutcome::Done);

    driver.store(vec![job("b")]).await;
    let new = driver.take_one().await;
    assert_eq!(
        driver.shared.with(|store| store.common.jobs.slots()),
        1,
        "the slot is reused"
    );
    for verdict in [
        ack(),
        retry(Duration::ZERO),
        release(Duration::ZERO),
        dead(),
    ] {
        assert_eq!(driver.end(&old, verdict).await, LeaseOutcome::Lost);
    }
    // Not even with the id of the job that is there now.
    let forged = Lease {
        id: new.lease.id,
        ..old.lease.clone()
    };
    assert_eq!(driver.end_lease(forged, ack()).await, LeaseOutcome::Lost);
    assert_eq!(
        driver.extend(vec![old.lease], MINUTE).await.unwrap(),
        [LeaseOutcome::Lost]
    );
    assert_eq!(driver.counts().await.running, 1);
    assert_eq!(driver.end(&new, ack()).await, LeaseOutcome::Done);
}

#[tokio::test]
async fn every_verdict_ends_the_lease() {
    for verdict in [
        ack(),
        retry(Duration::ZERO),
        release(Duration::ZERO),
        dead(),
    ] {
        let driver = MemoryDriver::new();
        driver.store(vec![job("a")]).await;
        let taken = driver.take_one().await;
        let twice = vec![verdict.clone(), verdict.clone()];
        let settlements = twice.into_iter().map(|verdict| Settlement {
            lease: taken.lease.clone(),
            verdict,
        });
        let outcomes = driver.settle(settlements.collect()).await.unwrap();
        assert_eq!(
            outcomes,
            [LeaseOutcome::Done, LeaseOutcome::Lost],
            "{verdict:?}"
        );
        let extended = driver.extend(vec![taken.lease], MINUTE).await.unwrap();
        assert_eq!(extended, [LeaseOutcome::Lost], "{verdict:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_past_its_end_is_lost_and_its_job_runs_again() {
    let driver = MemoryDriver::new();
    driver.store(vec![job("a"), job("b")]).await;
    let old = driver.take_one().await;
    driver.advance(MINUTE);
    assert_eq!(driver.end(&old, ack()).await, LeaseOutcome::Lost);
    assert_eq!(
        driver.extend(vec![old.lease], MINUTE).await.unwrap(),
        [LeaseOutcome::Lost]
    );
    let taken = driver.take(9).await;
    assert_eq!(labels(&taken), ["b", "a"]);
    assert_eq!((taken[0].attempt, taken[1].attempt), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn an_extended_lease_holds_from_now() {
    let driver = MemoryDriver::new();
    driver.store(vec![job("a")]).await;
    let taken = driver.take_one().await;
    for _ in 0..3 {
        driver.advance(MINUTE - SECOND);
        let extended = driver
            .extend(vec![taken.lease.clone()], MINUTE)
            .await
            .unwrap();
        assert_eq!(extended, [LeaseOutcome::Done]);
        assert!(driver.take(1).await.is_empty());
    }
    // A shorter one counts too.
    driver
        .extend(vec![taken.lease.clone()], SECOND)
        .await
        .unwrap();
    driver.advance(SECOND);
    assert_eq!(driver.take_one().await.attempt, 2);
}

#[tokio::test]
async fn a_job_moves_on_when_its_slot_has_no_turn_left() {
    let driver = MemoryDriver::new();
    driver.store(vec![keyed("a", "k"), keyed("b", "k")]).await;
    let key = driver.shared.with(|store| store.queues[0].ready[0]);
    driver
        .shared
        .with(|store| store.common.jobs.wear_out(key, 1));
    let last = driver.take_one().await;
    assert_eq!(
        driver.end(&last, retry(Duration::ZERO)).await,
        LeaseOutcome::Done
    );

    let moved = driver.take_one().await;
    assert_eq!((label(&moved), moved.attempt), ("a", 2));
    assert_ne!(moved.lease.token, last.lease.token);
    assert!(
        driver.take(1).await.is_empty(),
        "it is still the head of its lane"
    );
    driver.end(&moved, retry(Duration::ZERO)).await;
    let moved = driver.take_one().await;
    assert_eq!((label(&moved), moved.attempt), ("a", 3));
    assert_eq!(driver.end(&moved, ack()).await, LeaseOutcome::Done);
    assert_eq!(label(&driver.take_one().await), "b");
}

#[tokio::test(start_paused = true)]
async fn attempts_stop_counting_at_the_end() {
    let driver = MemoryDriver::new();
    driver.store(vec![job("a")]).await;
    let key = driver.shared.with(|store| store.queues[0].ready[0]);
    driver
        .shared
        .with(|store| store.common.jobs[key].attempts = u32::MAX);
    assert_eq!(driver.take_one().await.attempt, u32::MAX);
}
