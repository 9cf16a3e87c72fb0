//! Each call of the driver, on a real server.

mod support;

use std::time::Duration;

use goqueue_core::driver::{Driver, LeaseOutcome, PushOutcome, QueueShare, Settlement, Verdict};
use goqueue_mysql::MysqlDriver;
use support::*;
use tokio::time::{Instant, sleep};

#[tokio::test(flavor = "multi_thread")]
async fn jobs_come_in_the_order_they_were_pushed() {
    let database = Database::new().await;
    let driver = database.driver().await;
    push(&driver, vec![job("q", "1"), job("q", "2")]).await;
    push(&driver, vec![job("q", "3")]).await;
    push(&driver, vec![job("other", "4")]).await;
    assert_eq!(bodies(&driver, 2).await, ["1", "2"]);
    assert_eq!(bodies(&driver, 5).await, ["3"]);
    assert_eq!(counts(&driver).await, (0, 0, 3, 0));
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_verdict_does_what_it_says() {
    let database = Database::new().await;
    let driver = database.driver().await;
    let names = ["ack", "retry", "release", "later", "dead", "rest"];
    push(&driver, names.map(|name| job("q", name)).into()).await;
    let jobs = take(&driver, 5).await;
    let hour = Duration::from_secs(3600);
    let verdicts = [
        Verdict::Ack,
        retry(Duration::ZERO),
        release(),
        Verdict::Release { delay: hour },
        dead(),
    ];
    let settlements: Vec<_> = jobs
        .iter()
        .zip(verdicts)
        .map(|(job, verdict)| Settlement {
            lease: job.lease.clone(),
            verdict,
        })
        .collect();
    let outcomes = driver.settle(settlements.clone()).await.unwrap();
    assert_eq!(outcomes, [LeaseOutcome::Done; 5]);
    assert_eq!(counts(&driver).await, (3, 1, 0, 1));
    // All of it is over now.
    assert_eq!(
        driver.settle(settlements).await.unwrap(),
        [LeaseOutcome::Lost; 5]
    );
    assert_eq!(counts(&driver).await, (3, 1, 0, 1));

    let jobs = take(&driver, 9).await;
    assert_eq!(bodies_of(&jobs), ["release", "rest", "retry"]);
    let attempts: Vec<_> = jobs.iter().map(|job| job.attempt).collect();
    assert_eq!(attempts, [1, 1, 2]);
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_with_lost_leases_settles_the_others() {
    let database = Database::new().await;
    let driver = database.driver().await;
    push(&driver, (0..4).map(|n| job("q", n.to_string())).collect()).await;
    let jobs = take(&driver, 4).await;
    end(&driver, &jobs[1], retry(Duration::ZERO)).await;
    let again = take(&driver, 1).await;
    assert_eq!(again[0].attempt, 2);
    let settle = |verdict: Verdict| {
        jobs.iter()
            .map(|job| Settlement {
                lease: job.lease.clone(),
                verdict: verdict.clone(),
            })
            .collect::<Vec<_>>()
    };
    let extended = driver
        .extend(jobs.iter().map(|j| j.lease.clone()).collect(), LEASE)
        .await;
    let (done, lost) = (LeaseOutcome::Done, LeaseOutcome::Lost);
    assert_eq!(extended.unwrap(), [done, lost, done, done]);
    assert_eq!(
        driver.settle(settle(Verdict::Ack)).await.unwrap(),
        [done, lost, done, done]
    );
    assert_eq!(counts(&driver).await, (0, 0, 1, 0));
    ack(&driver, &again[0]).await;
    database.is_empty().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_runs_out_gives_the_job_to_the_next() {
    let database = Database::new().await;
    let driver = database.driver().await;
    push(&driver, vec![job("q", "a")]).await;
    let mut short = request("q", 1);
    short.lease = Duration::from_millis(300);
    let first = driver.reserve(short).await.unwrap();
    let since = Instant::now();
    let next = driver
        .reserve(waiting("q", 1, Duration::from_secs(5)))
        .await
        .unwrap();
    assert!(
        since.elapsed() < Duration::from_millis(1500),
        "{:?}",
        since.elapsed()
    );
    assert_eq!(next[0].attempt, 2);
    assert_eq!(
        end(&driver, &first[0], Verdict::Ack).await,
        LeaseOutcome::Lost
    );
    ack(&driver, &next[0]).await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shares_come_first_and_room_is_filled() {
    let database = Database::new().await;
    let driver = database.driver().await;
    let many = |name: &str, n: usize| (0..n).map(|_| job(name, name.to_owned())).collect();
    push(&driver, many("a", 9)).await;
    push(&driver, many("b", 2)).await;
    let mut request = request("a", 10);
    request.queues = [("a", 3), ("b", 4), ("c", 3)]
        .map(|(name, share)| QueueShare {
            queue: queue(name),
            share,
        })
        .into();
    let jobs = driver.reserve(request.clone()).await.unwrap();
    let found = bodies_of(&jobs);
    assert_eq!(found, ["a", "a", "a", "b", "b", "a", "a", "a", "a", "a"]);
    request.queues[0].share = 0;
    assert_eq!(driver.reserve(request).await.unwrap().len(), 1);
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unique_keys_are_taken_until_the_end_and_held_beyond_it() {
    let database = Database::new().await;
    let driver = database.driver().await;
    let (first, second) = (unique("k", Duration::ZERO), unique("k", Duration::ZERO));
    let holder = first.id;
    // Also within one batch.
    let outcomes = driver
        .push(vec![first, second, unique("other", Duration::ZERO)])
        .await
        .unwrap();
    assert!(matches!(outcomes[0], PushOutcome::Stored), "{outcomes:?}");
    assert!(
        matches!(outcomes[1], PushOutcome::Duplicate(id) if id == holder),
        "{outcomes:?}"
    );
    assert!(matches!(outcomes[2], PushOutcome::Stored), "{outcomes:?}");
    let jobs = take(&driver, 9).await;
    assert_eq!(jobs.len(), 2);
    end(&driver, &jobs[0], retry(Duration::ZERO)).await;
    let outcome = driver
        .push(vec![unique("k", Duration::ZERO)])
        .await
        .unwrap();
    assert!(
        matches!(outcome[0], PushOutcome::Duplicate(id) if id == holder),
        "{outcome:?}"
    );
    ack(&driver, &jobs[1]).await;
    ack(&driver, &take(&driver, 1).await[0]).await;
    database.is_empty().await;

    let held = unique("k", Duration::from_millis(700));
    let holder = held.id;
    push(&driver, vec![held]).await;
    end(&driver, &take(&driver, 1).await[0], dead()).await;
    let outcome = driver
        .push(vec![unique("k", Duration::ZERO)])
        .await
        .unwrap();
    assert!(
        matches!(outcome[0], PushOutcome::Duplicate(id) if id == holder),
        "{outcome:?}"
    );
    sleep(Duration::from_millis(750)).await;
    push(&driver, vec![unique("k", Duration::ZERO)]).await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_of_one_key_run_one_at_a_time_and_in_order() {
    let database = Database::new().await;
    let driver = database.driver().await;
    let mut later = ordered("slow", "slow-1");
    later.delay = Duration::from_millis(400);
    push(&driver, vec![later]).await;
    push(
        &driver,
        ["a-1", "a-2", "a-3"].map(|body| ordered("a", body)).into(),
    )
    .await;
    push(
        &driver,
        vec![
            ordered("b", "b-1"),
            job("q", "free"),
            ordered("slow", "slow-2"),
        ],
    )
    .await;

    let jobs = take(&driver, 9).await;
    assert_eq!(bodies_of(&jobs), ["a-1", "b-1", "free"]);
    assert_eq!(counts(&driver).await, (3, 1, 3, 0));
    end(&driver, &jobs[0], retry(Duration::from_millis(400))).await;
    ack(&driver, &jobs[1]).await;
    ack(&driver, &jobs[2]).await;
    assert_eq!(bodies(&driver, 9).await, [""; 0]);
    sleep(Duration::from_millis(450)).await;
    let jobs = take(&driver, 9).await;
    assert_eq!(bodies_of(&jobs), ["slow-1", "a-1"]);
    for job in &jobs {
        ack(&driver, job).await;
    }
    let jobs = take(&driver, 9).await;
    assert_eq!(bodies_of(&jobs), ["a-2", "slow-2"]);
    end(&driver, &jobs[0], release()).await;
    ack(&driver, &jobs[1]).await;
    let jobs = take(&driver, 9).await;
    assert_eq!(
        (bodies_of(&jobs), jobs[0].attempt),
        (vec!["a-2".to_owned()], 1)
    );
    end(&driver, &jobs[0], dead()).await;
    ack(&driver, &take(&driver, 9).await[0]).await;
    driver
        .inspect()
        .unwrap()
        .delete_dead(&queue("q"), goqueue_core::driver::Selection::All)
        .await
        .unwrap();
    database.is_empty().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_line_behind_one_key_hides_no_other_job() {
    let database = Database::new().await;
    let driver = database.driver().await;
    for _ in 0..3 {
        push(&driver, (0..1000).map(|_| ordered("k", "line")).collect()).await;
    }
    push(&driver, vec![job("q", "free")]).await;
    let since = Instant::now();
    assert_eq!(bodies(&driver, 2).await, ["line", "free"]);
    assert!(
        since.elapsed() < Duration::from_secs(5),
        "{:?}",
        since.elapsed()
    );
    assert_eq!(counts(&driver).await, (2999, 0, 2, 0));
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_with_a_push_and_with_a_cancel() {
    let database = Database::new().await;
    // So rarely that polling cannot be what ends the wait.
    let config = database.config_with("[mysql]\npoll_interval = \"10s\"");
    let driver = MysqlDriver::connect(&config).await.unwrap();
    let waiter = driver.clone();
    let waiting_for = tokio::spawn(async move {
        let jobs = waiter
            .reserve(waiting("q", 1, Duration::from_secs(20)))
            .await
            .unwrap();
        (jobs, Instant::now())
    });
    sleep(Duration::from_millis(1500)).await;
    push(&driver, vec![job("q", "a")]).await;
    let pushed = Instant::now();
    let (jobs, woken) = waiting_for.await.unwrap();
    assert_eq!(bodies_of(&jobs), ["a"]);
    assert!(woken.saturating_duration_since(pushed) < Duration::from_secs(1));

    let request = waiting("q", 1, Duration::from_secs(20));
    let cancel = request.cancel.clone();
    let waiter = driver.clone();
    let waiting_for = tokio::spawn(async move { waiter.reserve(request).await.unwrap() });
    sleep(Duration::from_millis(200)).await;
    let since = Instant::now();
    cancel.cancel();
    assert!(waiting_for.await.unwrap().is_empty());
    assert!(since.elapsed() < Duration::from_secs(1));
    database.drop().await;
}
