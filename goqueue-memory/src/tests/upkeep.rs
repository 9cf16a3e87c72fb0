use goqueue_core::driver::Maintenance;

use super::*;

#[tokio::test(start_paused = true)]
async fn retention_purges_and_tells_when_to_come_back() {
    let driver = MemoryDriver::builder()
        .retention(10 * SECOND)
        .build()
        .unwrap();
    let queues = [name("q"), name("unknown")];
    let idle = driver.maintain(&queues).await.unwrap();
    assert_eq!(
        idle,
        Maintenance {
            next: MINUTE,
            ..Maintenance::default()
        }
    );

    driver.bury("a").await;
    driver.advance(4 * SECOND);
    driver.bury("b").await;
    let done = driver.maintain(&queues).await.unwrap();
    assert_eq!((done.purged, done.next), (0, 6 * SECOND));
    driver.advance(6 * SECOND);
    let done = driver.maintain(&queues).await.unwrap();
    assert_eq!((done.purged, done.next), (1, 4 * SECOND));
    driver.advance(Duration::from_millis(3_999));
    let done = driver.maintain(&queues).await.unwrap();
    assert_eq!(
        (done.purged, done.next),
        (0, SECOND),
        "a millisecond is no reason to hurry"
    );
    driver.advance(SECOND);
    let done = driver.maintain(&queues).await.unwrap();
    assert_eq!((done.purged, done.next), (1, MINUTE));
    assert_eq!(driver.counts().await.dead, 0);
}

#[tokio::test(start_paused = true)]
async fn upkeep_promotes_and_recovers_in_bounded_steps() {
    let driver = MemoryDriver::new();
    driver
        .store(vec![job("running"), delayed("due", SECOND)])
        .await;
    driver.take_one().await;
    driver.advance(MINUTE);
    let done = driver.maintain(&[name("q")]).await.unwrap();
    assert_eq!((done.promoted, done.recovered, done.next), (1, 1, MINUTE));

    driver
        .store(
            (0..1_500)
                .map(|n| delayed(&n.to_string(), SECOND))
                .collect(),
        )
        .await;
    driver.advance(SECOND);
    let done = driver.maintain(&[name("q")]).await.unwrap();
    assert_eq!((done.promoted, done.next), (1_024, Duration::ZERO));
    let done = driver.maintain(&[name("q")]).await.unwrap();
    assert_eq!((done.promoted, done.next), (476, MINUTE));
}

#[tokio::test]
async fn upkeep_gives_back_the_memory_of_a_burst() {
    let driver = MemoryDriver::new();
    let sizes = || {
        driver
            .shared
            .with(|store| (store.queues[0].ready.capacity(), store.common.jobs.slots()))
    };
    driver
        .store((0..20_000).map(|n| job(&n.to_string())).collect())
        .await;
    for job in driver.take(20_000).await {
        driver.end(&job, ack()).await;
    }
    let (ready, slots) = sizes();
    assert!(ready >= 20_000 && slots >= 20_000);
    driver.maintain(&[name("q")]).await.unwrap();
    assert_eq!(sizes(), (0, 0));
    driver.store(vec![job("again")]).await;
    assert_eq!(driver.take(9).await.len(), 1);
}
