use super::*;

fn share(queue: &str, share: usize) -> QueueShare {
    QueueShare {
        queue: name(queue),
        share,
    }
}

async fn take_from(driver: &MemoryDriver, max: usize, queues: Vec<QueueShare>) -> Vec<String> {
    let taken = driver
        .reserve(ReserveRequest { queues, ..ask(max) })
        .await
        .unwrap();
    taken.iter().map(|job| label(job).to_owned()).collect()
}

#[tokio::test]
async fn shares_come_first_and_then_whatever_is_there_in_the_same_order() {
    let driver = MemoryDriver::new();
    for queue in ["high", "low"] {
        let jobs = (0..6).map(|n| NewJob {
            queue: name(queue),
            ..job(&format!("{queue}{n}"))
        });
        driver.store(jobs.collect()).await;
    }
    let taken = take_from(&driver, 3, vec![share("high", 2), share("low", 1)]).await;
    assert_eq!(taken, ["high0", "high1", "low0"]);
    let taken = take_from(&driver, 4, vec![share("high", 1), share("low", 1)]).await;
    assert_eq!(taken, ["high2", "low1", "high3", "high4"]);
    let taken = take_from(&driver, 9, vec![share("low", 0), share("high", 1)]).await;
    assert_eq!(taken, ["high5", "low2", "low3", "low4", "low5"]);
    assert!(
        take_from(&driver, 9, vec![share("high", 9), share("low", 9)])
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn max_zero_and_no_queues_take_nothing() {
    let driver = MemoryDriver::new();
    driver.store(vec![job("a")]).await;
    assert!(driver.take(0).await.is_empty());
    assert!(take_from(&driver, 5, vec![]).await.is_empty());
    assert_eq!(driver.take(usize::MAX).await.len(), 1);
}

#[tokio::test]
async fn plain_jobs_are_first_in_first_out() {
    let driver = MemoryDriver::new();
    driver.store(vec![job("a"), job("b")]).await;
    driver.store(vec![job("c")]).await;
    assert_eq!(labels(&driver.take(2).await), ["a", "b"]);
    assert_eq!(labels(&driver.take(2).await), ["c"]);
}

#[tokio::test(start_paused = true)]
async fn due_jobs_are_taken_in_the_order_they_became_due() {
    let driver = MemoryDriver::new();
    driver
        .store(vec![
            delayed("3s", 3 * SECOND),
            delayed("1s", SECOND),
            job("now"),
        ])
        .await;
    driver.advance(2 * SECOND);
    // Nobody looked at the queue since `1s` became due: it is still ahead of this one.
    driver.store(vec![job("2s")]).await;
    driver.advance(2 * SECOND);
    driver.store(vec![job("4s")]).await;
    assert_eq!(
        labels(&driver.take(9).await),
        ["now", "1s", "2s", "3s", "4s"]
    );
}

#[tokio::test(start_paused = true)]
async fn lost_and_scheduled_jobs_queue_by_when_each_became_free() {
    let driver = MemoryDriver::new();
    driver.store(vec![job("1s"), job("3s")]).await;
    for lease in [SECOND, 3 * SECOND] {
        driver
            .reserve(ReserveRequest { lease, ..ask(1) })
            .await
            .unwrap();
    }
    driver
        .store(vec![delayed("2s", 2 * SECOND), delayed("4s", 4 * SECOND)])
        .await;
    driver.advance(5 * SECOND);
    assert_eq!(labels(&driver.take(9).await), ["1s", "2s", "3s", "4s"]);
}

#[tokio::test(start_paused = true)]
async fn a_job_is_never_early_and_ready_once_due() {
    let driver = MemoryDriver::new();
    driver
        .store(vec![delayed("a", Duration::from_micros(1_500))])
        .await;
    driver.advance(Duration::from_micros(1_999));
    assert!(driver.take(1).await.is_empty());
    driver.advance(Duration::from_micros(1));
    assert_eq!(driver.take(1).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_delay_without_end_is_never_due() {
    let driver = MemoryDriver::new();
    driver.store(vec![delayed("a", Duration::MAX)]).await;
    driver.advance(Duration::from_secs(1 << 33));
    assert!(driver.take(1).await.is_empty());
    assert_eq!(driver.counts().await.scheduled, 1);
}

#[tokio::test(start_paused = true)]
async fn many_due_jobs_are_moved_in_bounded_steps() {
    let driver = MemoryDriver::new();
    for _ in 0..10 {
        driver
            .store(
                (0..1_000)
                    .map(|n| delayed(&n.to_string(), SECOND))
                    .collect(),
            )
            .await;
    }
    driver.advance(SECOND);
    assert_eq!(driver.take(10).await.len(), 10);
    let moved = driver.shared.with(|store| store.queues[0].ready.len());
    assert!(moved <= 1_024, "{moved} were moved for 10");
    assert_eq!(driver.counts().await.ready, 9_990);
}

#[tokio::test]
async fn a_released_job_is_back_in_its_place_with_its_attempt_given_back() {
    let driver = MemoryDriver::new();
    driver.store(vec![job("a"), job("b"), job("c")]).await;
    let taken = driver.take(2).await;
    let settlements = taken
        .iter()
        .map(|job| Settlement {
            lease: job.lease.clone(),
            verdict: release(Duration::ZERO),
        })
        .collect();
    assert_eq!(
        driver.settle(settlements).await.unwrap(),
        [LeaseOutcome::Done; 2]
    );
    let again = driver.take(3).await;
    assert_eq!(labels(&again), ["a", "b", "c"]);
    assert!(again.iter().all(|job| job.attempt == 1));
}

#[tokio::test(start_paused = true)]
async fn a_snoozed_job_waits_and_keeps_its_attempt() {
    let driver = MemoryDriver::new();
    driver.store(vec![job("a")]).await;
    let first = driver.take_one().await;
    driver.end(&first, release(SECOND)).await;
    assert!(driver.take(1).await.is_empty());
    driver.advance(SECOND);
    assert_eq!(driver.take_one().await.attempt, 1);
}

#[tokio::test(start_paused = true)]
async fn a_retried_job_spends_its_attempt_and_goes_to_the_end() {
    let driver = MemoryDriver::new();
    driver.store(vec![job("a"), job("b")]).await;
    let first = driver.take_one().await;
    driver.end(&first, retry(Duration::ZERO)).await;
    assert_eq!(label(&driver.take_one().await), "b");
    let second = driver.take_one().await;
    assert_eq!((label(&second), second.attempt), ("a", 2));
    driver.end(&second, retry(SECOND)).await;
    assert!(driver.take(1).await.is_empty());
    driver.advance(SECOND);
    assert_eq!(driver.take_one().await.attempt, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_claimers_never_share_a_job() {
    let driver = MemoryDriver::new();
    driver
        .store((0..2_000).map(|n| job(&n.to_string())).collect())
        .await;
    let claimers: Vec<_> = (0..32)
        .map(|_| {
            let driver = driver.clone();
            tokio::spawn(async move {
                let mut ids = Vec::new();
                loop {
                    let taken = driver.take(3).await;
                    if taken.is_empty() {
                        return ids;
                    }
                    for job in taken {
                        ids.push(job.lease.id);
                        assert_eq!(driver.end(&job, ack()).await, LeaseOutcome::Done);
                    }
                }
            })
        })
        .collect();
    let mut ids = Vec::new();
    for claimer in claimers {
        ids.extend(claimer.await.unwrap());
    }
    assert_eq!(ids.len(), 2_000);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 2_000);
}
