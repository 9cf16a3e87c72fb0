use goqueue_core::Error;

use super::*;

#[tokio::test]
async fn capacity_counts_live_jobs_and_letters_of_all_queues() {
    let driver = MemoryDriver::builder().capacity(3).build().unwrap();
    driver.bury("a").await;
    driver.store(vec![job("b")]).await;
    let (last, over) = (
        NewJob {
            queue: name("other"),
            ..job("c")
        },
        job("d"),
    );
    let outcomes = driver.push(vec![last, over]).await.unwrap();
    assert!(is_stored(&outcomes[0]));
    let PushOutcome::Refused(error) = &outcomes[1] else {
        panic!("{outcomes:?}")
    };
    assert!(
        matches!(error, Error::QueueFull { queue, capacity: 3 } if queue == "q"),
        "{error}"
    );
    assert!(error.is_transient());

    // Moving between alive and dead takes no room.
    assert_eq!(
        driver
            .requeue_dead(&name("q"), Selection::All)
            .await
            .unwrap(),
        1
    );
    assert!(!is_stored(&driver.put(job("d")).await));
    // A job that ends makes room, and so do a deletion and a purge.
    driver.end(&driver.take_one().await, ack()).await;
    driver.store(vec![job("d")]).await;
    assert!(!is_stored(&driver.put(job("e")).await));
    driver.end(&driver.take_one().await, dead()).await;
    assert!(!is_stored(&driver.put(job("e")).await));
    driver
        .delete_dead(&name("q"), Selection::All)
        .await
        .unwrap();
    driver.store(vec![job("e")]).await;
    driver.purge(&name("other")).await.unwrap();
    driver.store(vec![job("f")]).await;
    assert!(!is_stored(&driver.put(job("g")).await));
}

#[tokio::test]
async fn a_duplicate_is_one_also_when_there_is_no_room() {
    let driver = MemoryDriver::builder().capacity(1).build().unwrap();
    driver.store(vec![unique("a", "k", Duration::ZERO)]).await;
    assert!(duplicate_of(&driver.put(unique("b", "k", Duration::ZERO)).await).is_some());
}

#[test]
fn a_capacity_out_of_range_is_refused() {
    for (given, text) in [
        (0, "0".to_owned()),
        (crate::MAX_CAPACITY + 1, "2147483649".into()),
    ] {
        let error = MemoryDriver::builder()
            .capacity(given)
            .build()
            .unwrap_err()
            .to_string();
        let expected = format!(
            "invalid setting `capacity`: got {text}, allowed is 1 to {}",
            crate::MAX_CAPACITY
        );
        assert_eq!(error, expected);
    }
}
