use std::time::SystemTime;

use super::*;

fn millis_now() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_millis() as u64
}

#[tokio::test(start_paused = true)]
async fn a_letter_keeps_everything() {
    let driver = MemoryDriver::new();
    driver.store(vec![job("not \u{1} json")]).await;
    driver.end(&driver.take_one().await, retry(SECOND)).await;
    driver.advance(3_600 * SECOND);
    let taken = driver.take_one().await;
    let id = taken.lease.id;
    driver.end(&taken, dead()).await;

    let letter = driver.dead_letter(&name("q"), id).await.unwrap().unwrap();
    assert_eq!(
        (letter.id, letter.queue.as_str(), letter.attempts),
        (id, "q", 2)
    );
    assert_eq!(
        (letter.reason, letter.error.as_str()),
        (DeadReason::Permanent, "never mind")
    );
    assert_eq!(&letter.body[..], b"not \x01 json");
    let expected = millis_now() + 3_600_000;
    assert!(
        letter.died_at.abs_diff(expected) < 10_000,
        "{} is not {expected}",
        letter.died_at
    );
    assert!(
        driver
            .dead_letter(&name("q"), JobId::new())
            .await
            .unwrap()
            .is_none()
    );
    assert!(
        driver
            .dead_letter(&name("none"), id)
            .await
            .unwrap()
            .is_none()
    );
    let stats = driver.counts().await;
    assert_eq!(
        (stats.ready, stats.scheduled, stats.running, stats.dead),
        (0, 0, 0, 1)
    );
}

#[tokio::test]
async fn letters_are_paged_by_age() {
    let driver = MemoryDriver::new();
    driver
        .store((0..7).map(|n| job(&n.to_string())).collect())
        .await;
    let mut taken = driver.take(7).await;
    taken.reverse();
    for job in &taken {
        driver.end(job, dead()).await;
    }
    let (mut seen, mut page) = (Vec::new(), PageRequest::first(3));
    loop {
        let part = driver.dead_letters(&name("q"), page.clone()).await.unwrap();
        seen.push(
            part.items
                .iter()
                .map(|letter| letter.body[0] - b'0')
                .collect::<Vec<_>>(),
        );
        match part.next {
            Some(next) => page.after = Some(next),
            None => break,
        }
    }
    assert_eq!(seen, [vec![0, 1, 2], vec![3, 4, 5], vec![6]]);

    let bad = PageRequest {
        limit: 3,
        after: Some("7".into()),
    };
    let error = driver
        .dead_letters(&name("q"), bad)
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "invalid page cursor `7`: the `next` of the page before, as it was given"
    );
    assert!(
        driver
            .dead_letters(&name("q"), PageRequest::first(0))
            .await
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn requeued_letters_start_over() {
    let driver = MemoryDriver::new();
    let (a, b, c) = (
        driver.bury("a").await,
        driver.bury("b").await,
        driver.bury("c").await,
    );
    let some = Selection::Ids(vec![c, a, JobId::new(), a]);
    assert_eq!(
        driver.requeue_dead(&name("q"), some.clone()).await.unwrap(),
        2
    );
    assert_eq!(driver.requeue_dead(&name("q"), some).await.unwrap(), 0);
    let again = driver.take(9).await;
    assert_eq!(labels(&again), ["a", "c"], "by age");
    assert!(again.iter().all(|job| job.attempt == 1));
    assert_eq!(
        driver
            .requeue_dead(&name("q"), Selection::All)
            .await
            .unwrap(),
        1
    );
    assert_eq!(driver.take_one().await.lease.id, b);
    assert_eq!(
        driver
            .requeue_dead(&name("none"), Selection::All)
            .await
            .unwrap(),
        0
    );
}

#[tokio::test(start_paused = true)]
async fn all_letters_are_moved_or_deleted_beyond_one_step() {
    let driver = MemoryDriver::new();
    let count = 3_000;
    let store_dead = async || {
        driver
            .store((0..count).map(|n| job(&n.to_string())).collect())
            .await;
        let taken = driver.take(count).await.into_iter();
        let settlements = taken.map(|job| Settlement {
            lease: job.lease,
            verdict: dead(),
        });
        driver.settle(settlements.collect()).await.unwrap();
    };
    store_dead().await;
    let moved = driver
        .requeue_dead(&name("q"), Selection::All)
        .await
        .unwrap();
    assert_eq!((moved, driver.counts().await.ready), (3_000, 3_000));
    assert_eq!(driver.purge(&name("q")).await.unwrap(), 3_000);
    store_dead().await;
    assert_eq!(
        driver
            .delete_dead(&name("q"), Selection::All)
            .await
            .unwrap(),
        3_000
    );
    assert_eq!(driver.counts().await.dead, 0);
    assert_eq!(driver.shared.with(|store| store.common.stored), 0);
}

#[tokio::test]
async fn an_id_that_dies_twice_is_one_letter() {
    let driver = MemoryDriver::builder().capacity(2).build().unwrap();
    let first = job("a");
    driver.store(vec![first.clone(), first]).await;
    for job in driver.take(2).await {
        assert_eq!(driver.end(&job, dead()).await, LeaseOutcome::Done);
    }
    assert_eq!(driver.counts().await.dead, 1);
    driver.store(vec![job("b")]).await;
    assert!(!is_stored(&driver.put(job("c")).await));
}
