use super::*;

async fn pages(driver: &MemoryDriver, state: JobState, limit: usize) -> Vec<Vec<String>> {
    let (mut seen, mut page) = (Vec::new(), PageRequest::first(limit));
    loop {
        let part = driver.peek(&name("q"), state, page.clone()).await.unwrap();
        let text = |body: &Bytes| String::from_utf8(body.to_vec()).unwrap();
        seen.push(part.items.iter().map(|job| text(&job.body)).collect());
        match part.next {
            Some(next) => page.after = Some(next),
            None => return seen,
        }
    }
}

#[tokio::test]
async fn only_queues_that_held_a_job_are_listed() {
    let driver = MemoryDriver::new();
    assert!(driver.queues().await.unwrap().is_empty());
    driver.take(1).await;
    assert!(driver.queues().await.unwrap().is_empty());
    for queue in ["z", "a"] {
        driver
            .store(vec![NewJob {
                queue: name(queue),
                ..job("x")
            }])
            .await;
    }
    driver.purge(&name("z")).await.unwrap();
    assert_eq!(driver.queues().await.unwrap(), [name("a"), name("z")]);
    assert_eq!(
        driver.stats(&name("none")).await.unwrap(),
        QueueStats::default()
    );
    assert_eq!(driver.purge(&name("none")).await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn counts_follow_a_job_through_its_life() {
    let driver = MemoryDriver::new();
    let counts = async || {
        let stats = driver.counts().await;
        (
            stats.ready,
            stats.scheduled,
            stats.running,
            stats.dead,
            stats.oldest_ready,
        )
    };
    driver.store(vec![delayed("a", SECOND)]).await;
    assert_eq!(counts().await, (0, 1, 0, 0, None));
    driver.advance(3 * SECOND);
    assert_eq!(counts().await, (1, 0, 0, 0, Some(2 * SECOND)));
    driver.store(vec![job("b")]).await;
    assert_eq!(counts().await, (2, 0, 0, 0, Some(2 * SECOND)));
    let taken = driver.take(1).await;
    assert_eq!(counts().await, (1, 0, 1, 0, Some(Duration::ZERO)));
    driver.end(&taken[0], retry(SECOND)).await;
    assert_eq!(counts().await, (1, 1, 0, 0, Some(Duration::ZERO)));
    driver.take(1).await;
    driver.advance(MINUTE + SECOND);
    assert_eq!(counts().await, (2, 0, 0, 0, Some(MINUTE)));
}

#[tokio::test(start_paused = true)]
async fn a_job_tells_its_state_attempts_and_last_error() {
    let driver = MemoryDriver::new();
    driver.store(vec![job("a")]).await;
    let look = async |state| {
        let mut page = driver
            .peek(&name("q"), state, PageRequest::first(9))
            .await
            .unwrap();
        assert_eq!((page.items.len(), page.next), (1, None));
        let job = page.items.remove(0);
        assert_eq!(job.state, state);
        (job.attempts, job.due_in, job.last_error)
    };
    assert_eq!(look(JobState::Ready).await, (0, Duration::ZERO, None));
    let taken = driver.take_one().await;
    driver.advance(SECOND);
    assert_eq!(look(JobState::Running).await, (1, MINUTE - SECOND, None));
    driver.end(&taken, retry(5 * SECOND)).await;
    driver.advance(SECOND);
    assert_eq!(
        look(JobState::Scheduled).await,
        (1, 4 * SECOND, Some("it failed".into()))
    );
    driver.advance(9 * SECOND);
    assert_eq!(
        look(JobState::Ready).await,
        (1, Duration::ZERO, Some("it failed".into()))
    );
}

#[tokio::test(start_paused = true)]
async fn listings_are_paged_in_the_order_of_running() {
    let driver = MemoryDriver::new();
    driver
        .store((0..5).map(|n| job(&n.to_string())).collect())
        .await;
    assert_eq!(
        pages(&driver, JobState::Ready, 2).await,
        [vec!["0", "1"], vec!["2", "3"], vec!["4"]]
    );
    assert_eq!(
        pages(&driver, JobState::Ready, 5).await,
        [vec!["0", "1", "2", "3", "4"]]
    );
    assert_eq!(
        pages(&driver, JobState::Scheduled, 5).await,
        [Vec::<String>::new()]
    );

    let taken = driver.take(3).await;
    assert_eq!(
        pages(&driver, JobState::Running, 2).await,
        [vec!["0", "1"], vec!["2"]]
    );
    driver
        .extend(vec![taken[0].lease.clone()], 2 * MINUTE)
        .await
        .unwrap();
    assert_eq!(
        pages(&driver, JobState::Running, 2).await,
        [vec!["1", "2"], vec!["0"]]
    );

    driver.end(&taken[1], release(Duration::ZERO)).await;
    assert_eq!(
        pages(&driver, JobState::Ready, 2).await,
        [vec!["1", "3"], vec!["4"]]
    );
    driver.end(&taken[2], retry(SECOND)).await;
    driver
        .store(vec![delayed("x", SECOND), delayed("y", SECOND / 2)])
        .await;
    assert_eq!(
        pages(&driver, JobState::Scheduled, 2).await,
        [vec!["y", "2"], vec!["x"]]
    );
}

#[tokio::test]
async fn a_page_goes_on_where_the_one_before_ended_whatever_happened_meanwhile() {
    let driver = MemoryDriver::new();
    driver
        .store((0..6).map(|n| job(&n.to_string())).collect())
        .await;
    let page = driver
        .peek(&name("q"), JobState::Ready, PageRequest::first(2))
        .await
        .unwrap();
    // The job that the cursor names is taken, and one before it comes back.
    let taken = driver.take(3).await;
    driver.end(&taken[0], release(Duration::ZERO)).await;
    let rest = PageRequest {
        limit: 9,
        after: page.next,
    };
    let rest = driver
        .peek(&name("q"), JobState::Ready, rest)
        .await
        .unwrap();
    let bodies: Vec<_> = rest.items.iter().map(|job| &job.body[..]).collect();
    assert_eq!(bodies, [b"3", b"4", b"5"]);
}

#[tokio::test]
async fn wrong_pages_are_refused() {
    let driver = MemoryDriver::new();
    for cursor in ["", "1", "1.x", "-1.2"] {
        let page = PageRequest {
            limit: 1,
            after: Some(cursor.into()),
        };
        let error = driver
            .peek(&name("q"), JobState::Ready, page)
            .await
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with(&format!("invalid page cursor `{cursor}`")),
            "{error}"
        );
    }
    let error = driver
        .peek(&name("q"), JobState::Ready, PageRequest::first(0))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid setting `limit`: got 0, allowed is 1 or more"
    );
    assert!(
        driver
            .peek(&name("q"), JobState::Ready, PageRequest::first(usize::MAX))
            .await
            .is_ok()
    );
}

#[tokio::test(start_paused = true)]
async fn a_purge_takes_all_but_running_jobs_and_letters() {
    let driver = MemoryDriver::new();
    driver
        .store(vec![job("dead"), job("lost"), job("running")])
        .await;
    let taken = driver.take(3).await;
    driver.end(&taken[0], dead()).await;
    driver
        .extend(vec![taken[1].lease.clone()], SECOND)
        .await
        .unwrap();
    driver.advance(SECOND);
    driver
        .store(vec![job("ready"), delayed("scheduled", SECOND)])
        .await;
    assert_eq!(driver.purge(&name("q")).await.unwrap(), 3);
    assert_eq!(driver.purge(&name("q")).await.unwrap(), 0);
    let stats = driver.counts().await;
    assert_eq!(
        (stats.ready, stats.scheduled, stats.running, stats.dead),
        (0, 0, 1, 1)
    );
    assert_eq!(driver.end(&taken[2], ack()).await, LeaseOutcome::Done);
}
