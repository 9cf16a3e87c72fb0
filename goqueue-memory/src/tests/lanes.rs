use super::*;

fn lanes(driver: &MemoryDriver) -> usize {
    driver.shared.with(|store| store.queues[0].lanes.len())
}

#[tokio::test]
async fn one_at_a_time_in_order_and_other_keys_go_on() {
    let driver = MemoryDriver::new();
    driver
        .store(vec![
            keyed("a1", "a"),
            keyed("a2", "a"),
            keyed("b1", "b"),
            job("plain"),
        ])
        .await;
    let taken = driver.take(9).await;
    assert_eq!(labels(&taken), ["a1", "b1", "plain"]);
    assert!(driver.take(9).await.is_empty());
    driver.end(&taken[0], ack()).await;
    let next = driver.take_one().await;
    assert_eq!(label(&next), "a2");
    for job in [&taken[1], &taken[2], &next] {
        driver.end(job, ack()).await;
    }
    assert_eq!(lanes(&driver), 0);
}

#[tokio::test(start_paused = true)]
async fn a_head_that_retries_or_snoozes_holds_its_lane() {
    let driver = MemoryDriver::new();
    driver.store(vec![keyed("a1", "a"), keyed("a2", "a")]).await;
    for verdict in [
        retry(SECOND),
        release(SECOND),
        release(Duration::ZERO),
        retry(SECOND),
    ] {
        let head = driver.take_one().await;
        assert_eq!(label(&head), "a1");
        driver.end(&head, verdict).await;
        driver.advance(SECOND);
    }
    let head = driver.take(9).await;
    assert_eq!(labels(&head), ["a1"]);
    driver.end(&head[0], dead()).await;
    assert_eq!(labels(&driver.take(9).await), ["a2"]);
}

#[tokio::test(start_paused = true)]
async fn a_head_whose_worker_is_lost_keeps_its_lane() {
    let driver = MemoryDriver::new();
    driver.store(vec![keyed("a1", "a"), keyed("a2", "a")]).await;
    driver.take_one().await;
    driver.advance(MINUTE);
    let head = driver.take(9).await;
    assert_eq!((labels(&head), head[0].attempt), (vec!["a1"], 2));
}

#[tokio::test(start_paused = true)]
async fn a_delayed_head_holds_its_lane() {
    let driver = MemoryDriver::new();
    let first = NewJob {
        delay: 2 * SECOND,
        ..keyed("a1", "a")
    };
    driver
        .store(vec![first, keyed("a2", "a"), keyed("b1", "b")])
        .await;
    assert_eq!(labels(&driver.take(9).await), ["b1"]);
    let stats = driver.counts().await;
    assert_eq!((stats.ready, stats.scheduled, stats.running), (1, 1, 1));
    assert_eq!(driver.peeked(JobState::Ready).await, ["a2"]);
    driver.advance(2 * SECOND);
    let head = driver.take(9).await;
    assert_eq!(labels(&head), ["a1"]);
    driver.end(&head[0], ack()).await;
    assert_eq!(labels(&driver.take(9).await), ["a2"]);
}

#[tokio::test(start_paused = true)]
async fn the_delay_of_a_follower_counts_from_its_push() {
    let driver = MemoryDriver::new();
    driver
        .store(vec![
            keyed("a1", "a"),
            NewJob {
                delay: 3 * SECOND,
                ..keyed("a2", "a")
            },
        ])
        .await;
    let head = driver.take_one().await;
    driver.advance(2 * SECOND);
    driver.end(&head, ack()).await;
    assert!(driver.take(1).await.is_empty());
    assert_eq!(driver.counts().await.scheduled, 1);
    driver.advance(SECOND);
    let head = driver.take_one().await;
    assert_eq!(label(&head), "a2");

    // One that became due behind its head counts as ready, and is, once the head ends.
    driver
        .store(vec![NewJob {
            delay: SECOND,
            ..keyed("a3", "a")
        }])
        .await;
    driver.advance(5 * SECOND);
    let stats = driver.counts().await;
    assert_eq!((stats.ready, stats.scheduled), (1, 0));
    assert_eq!(stats.oldest_ready, Some(4 * SECOND));
    driver.end(&head, ack()).await;
    assert_eq!(label(&driver.take_one().await), "a3");
}

#[tokio::test]
async fn the_next_of_a_lane_takes_the_place_it_had() {
    let driver = MemoryDriver::new();
    driver
        .store(vec![
            keyed("a1", "a"),
            job("w"),
            job("x"),
            keyed("a2", "a"),
            job("y"),
        ])
        .await;
    let head = driver.take_one().await;
    assert_eq!(label(&driver.take_one().await), "w");
    driver.end(&head, ack()).await;
    assert_eq!(driver.peeked(JobState::Ready).await, ["x", "a2", "y"]);
    assert_eq!(label(&driver.take_one().await), "x");
    assert_eq!(labels(&driver.take(9).await), ["a2", "y"]);
}

#[tokio::test]
async fn a_requeued_letter_joins_the_end_of_its_lane() {
    let driver = MemoryDriver::new();
    driver
        .store(vec![keyed("a1", "a"), keyed("a2", "a"), keyed("a3", "a")])
        .await;
    let head = driver.take_one().await;
    driver.end(&head, dead()).await;
    let ids = Selection::Ids(vec![head.lease.id]);
    assert_eq!(driver.requeue_dead(&name("q"), ids).await.unwrap(), 1);
    let mut order = Vec::new();
    while let Some(job) = driver.take(1).await.pop() {
        order.push((label(&job).to_owned(), job.attempt));
        driver.end(&job, ack()).await;
    }
    assert_eq!(
        order,
        [("a2".into(), 1), ("a3".into(), 1), ("a1".into(), 1)]
    );
    assert_eq!(lanes(&driver), 0);
}

#[tokio::test(start_paused = true)]
async fn a_purge_leaves_the_lane_of_a_running_head_only() {
    let driver = MemoryDriver::new();
    driver.store(vec![keyed("a1", "a"), keyed("a2", "a")]).await;
    driver
        .store(vec![
            NewJob {
                delay: SECOND,
                ..keyed("a3", "a")
            },
            keyed("b1", "b"),
        ])
        .await;
    let head = driver.take_one().await;
    assert_eq!(driver.purge(&name("q")).await.unwrap(), 3);
    assert_eq!(lanes(&driver), 1);
    driver.store(vec![keyed("a4", "a")]).await;
    driver.advance(SECOND);
    assert!(driver.take(1).await.is_empty());
    driver.end(&head, ack()).await;
    let head = driver.take_one().await;
    assert_eq!(label(&head), "a4");
    driver.end(&head, ack()).await;
    assert_eq!(lanes(&driver), 0);
}

#[tokio::test]
async fn keys_of_two_queues_are_two_lanes() {
    let driver = MemoryDriver::new();
    driver
        .store(vec![
            keyed("q", "a"),
            NewJob {
                queue: name("other"),
                ..keyed("o", "a")
            },
        ])
        .await;
    let queues = ["q", "other"].map(|queue| QueueShare {
        queue: name(queue),
        share: 5,
    });
    let taken = driver
        .reserve(ReserveRequest {
            queues: queues.into(),
            ..ask(9)
        })
        .await
        .unwrap();
    assert_eq!(labels(&taken), ["q", "o"]);
}
