use super::*;

fn keys(driver: &MemoryDriver) -> usize {
    driver.shared.with(|store| store.queues[0].uniques.len())
}

#[tokio::test(start_paused = true)]
async fn a_key_is_taken_while_its_job_lives_and_freed_when_it_ends() {
    for last in [ack(), dead()] {
        let driver = MemoryDriver::new();
        let holder = unique("a", "k", Duration::ZERO);
        let id = holder.id;
        assert!(is_stored(
            &driver
                .put(NewJob {
                    delay: SECOND,
                    ..holder
                })
                .await
        ));
        let refused = |outcome: PushOutcome| assert_eq!(duplicate_of(&outcome), Some(id));
        refused(driver.put(unique("scheduled", "k", Duration::ZERO)).await);
        driver.advance(SECOND);
        refused(driver.put(unique("ready", "k", Duration::ZERO)).await);
        let taken = driver.take_one().await;
        refused(driver.put(unique("running", "k", Duration::ZERO)).await);
        driver.end(&taken, retry(SECOND)).await;
        refused(
            driver
                .put(unique("waiting for a retry", "k", Duration::ZERO))
                .await,
        );
        driver.advance(SECOND);
        let taken = driver.take_one().await;
        driver.advance(MINUTE);
        refused(
            driver
                .put(unique("its worker lost", "k", Duration::ZERO))
                .await,
        );
        assert_eq!(driver.end(&taken, ack()).await, LeaseOutcome::Lost);
        refused(
            driver
                .put(unique("after a late ack", "k", Duration::ZERO))
                .await,
        );
        let taken = driver.take_one().await;
        driver.end(&taken, last).await;
        assert!(is_stored(
            &driver.put(unique("b", "k", Duration::ZERO)).await
        ));
        assert_eq!(keys(&driver), 1);
    }
}

#[tokio::test]
async fn a_batch_and_another_queue_are_told_apart() {
    let driver = MemoryDriver::new();
    let (first, second) = (
        unique("a", "k", Duration::ZERO),
        unique("b", "k", Duration::ZERO),
    );
    let id = first.id;
    let other = NewJob {
        queue: name("other"),
        ..unique("c", "k", Duration::ZERO)
    };
    let third = unique("d", "l", Duration::ZERO);
    let outcomes = driver
        .push(vec![first, second, other, third])
        .await
        .unwrap();
    assert_eq!(duplicate_of(&outcomes[1]), Some(id));
    assert!([0, 2, 3].iter().all(|place| is_stored(&outcomes[*place])));
}

#[tokio::test(start_paused = true)]
async fn a_hold_outlives_the_job_from_its_push_on() {
    let driver = MemoryDriver::new();
    let holder = unique("a", "k", MINUTE);
    let id = holder.id;
    driver.store(vec![holder]).await;
    driver.advance(10 * SECOND);
    driver.end(&driver.take_one().await, ack()).await;
    driver.advance(49 * SECOND);
    assert_eq!(
        duplicate_of(&driver.put(unique("b", "k", MINUTE)).await),
        Some(id)
    );
    driver.advance(SECOND);
    assert!(is_stored(&driver.put(unique("b", "k", MINUTE)).await));

    // A job that outlives the hold frees its key when it ends.
    driver.advance(2 * MINUTE);
    assert!(duplicate_of(&driver.put(unique("c", "k", MINUTE)).await).is_some());
    driver.end(&driver.take_one().await, ack()).await;
    assert_eq!(keys(&driver), 0);
}

#[tokio::test(start_paused = true)]
async fn expired_holds_are_cleared_by_upkeep_and_by_new_keys() {
    let driver = MemoryDriver::new();
    for n in 0..100 {
        driver
            .store(vec![unique("a", &n.to_string(), MINUTE)])
            .await;
        driver.end(&driver.take_one().await, ack()).await;
    }
    assert_eq!(keys(&driver), 100);
    let done = driver.maintain(&[name("q")]).await.unwrap();
    assert_eq!(done.next, MINUTE);
    driver.advance(MINUTE);
    driver.maintain(&[name("q")]).await.unwrap();
    assert_eq!(keys(&driver), 0);

    for n in 0..1_000 {
        driver
            .store(vec![unique("a", &n.to_string(), SECOND)])
            .await;
        driver.end(&driver.take_one().await, ack()).await;
        driver.advance(SECOND);
    }
    assert!(keys(&driver) <= 2, "{} keys are left", keys(&driver));
}

#[tokio::test]
async fn a_purge_frees_keys_but_not_those_of_running_jobs() {
    let driver = MemoryDriver::new();
    driver.store(vec![unique("a", "a", Duration::ZERO)]).await;
    driver.take_one().await;
    driver
        .store(vec![
            unique("b", "b", Duration::ZERO),
            unique("c", "c", MINUTE),
        ])
        .await;
    assert_eq!(driver.purge(&name("q")).await.unwrap(), 2);
    assert!(duplicate_of(&driver.put(unique("a", "a", Duration::ZERO)).await).is_some());
    assert!(is_stored(
        &driver.put(unique("b", "b", Duration::ZERO)).await
    ));
    assert!(is_stored(
        &driver.put(unique("c", "c", Duration::ZERO)).await
    ));
}

#[tokio::test(start_paused = true)]
async fn a_requeued_letter_takes_its_key_again_or_stays() {
    let driver = MemoryDriver::new();
    let first = unique("a", "k", MINUTE);
    let id = first.id;
    driver.store(vec![first]).await;
    driver.end(&driver.take_one().await, dead()).await;
    // Its own hold does not keep it out.
    assert_eq!(
        driver
            .requeue_dead(&name("q"), Selection::All)
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        duplicate_of(&driver.put(unique("b", "k", MINUTE)).await),
        Some(id)
    );
    driver.end(&driver.take_one().await, dead()).await;

    driver.advance(MINUTE);
    driver.store(vec![unique("b", "k", MINUTE)]).await;
    assert_eq!(
        driver
            .requeue_dead(&name("q"), Selection::All)
            .await
            .unwrap(),
        0
    );
    assert_eq!(driver.counts().await.dead, 1);
    driver.end(&driver.take_one().await, ack()).await;
    // What holds the key now is no live job.
    assert_eq!(
        driver
            .requeue_dead(&name("q"), Selection::All)
            .await
            .unwrap(),
        1
    );
    driver.end(&driver.take_one().await, ack()).await;
    assert!(duplicate_of(&driver.put(unique("c", "k", MINUTE)).await).is_some());
    driver.advance(MINUTE);
    assert!(is_stored(&driver.put(unique("c", "k", MINUTE)).await));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_hold_does_not_free_a_requeued_job() {
    let driver = MemoryDriver::new();
    let first = unique("a", "k", MINUTE);
    let id = first.id;
    driver.store(vec![first]).await;
    driver.end(&driver.take_one().await, dead()).await;
    driver
        .requeue_dead(&name("q"), Selection::All)
        .await
        .unwrap();
    driver.advance(MINUTE);
    driver.maintain(&[name("q")]).await.unwrap();
    assert_eq!(
        duplicate_of(&driver.put(unique("b", "k", MINUTE)).await),
        Some(id)
    );
}
