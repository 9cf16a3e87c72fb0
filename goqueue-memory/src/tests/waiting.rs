use std::{
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
};

use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::*;

fn patient(wait: Duration) -> ReserveRequest {
    ReserveRequest { wait, ..ask(9) }
}

fn waiters(driver: &MemoryDriver) -> usize {
    driver
        .shared
        .with(|store| store.queues.iter().map(|queue| queue.waiters.len()).sum())
}

/// Counts how often a future is polled.
struct Counted<F> {
    future: Pin<Box<F>>,
    polls: Arc<AtomicU32>,
}

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.polls.fetch_add(1, Ordering::Relaxed);
        self.future.as_mut().poll(cx)
    }
}

/// Waits in a task of its own, which is polled only when it is woken. Answers the labels.
fn spawn_wait(driver: &MemoryDriver, wait: Duration) -> (JoinHandle<Vec<String>>, Arc<AtomicU32>) {
    let (driver, polls) = (driver.clone(), Arc::new(AtomicU32::new(0)));
    let future = Box::pin(async move {
        let taken = driver.reserve(patient(wait)).await.unwrap();
        taken.iter().map(|job| label(job).to_owned()).collect()
    });
    (
        tokio::spawn(Counted {
            future,
            polls: Arc::clone(&polls),
        }),
        polls,
    )
}

#[tokio::test(start_paused = true)]
async fn an_empty_wait_ends_in_time_and_does_not_spin() {
    let driver = MemoryDriver::new();
    driver.store(vec![delayed("later", 10 * MINUTE)]).await;
    let start = Instant::now();
    let (wait, polls) = spawn_wait(&driver, MINUTE);
    assert!(wait.await.unwrap().is_empty());
    assert_eq!(start.elapsed(), MINUTE);
    assert_eq!(polls.load(Ordering::Relaxed), 2);
    assert_eq!(waiters(&driver), 0);
}

#[tokio::test(start_paused = true)]
async fn a_push_wakes_a_waiter_at_once() {
    let driver = MemoryDriver::new();
    let start = Instant::now();
    let pushing = async {
        tokio::time::sleep(SECOND).await;
        driver.store(vec![job("a")]).await;
    };
    let (taken, ()) = tokio::join!(driver.reserve(patient(MINUTE)), pushing);
    assert_eq!(labels(&taken.unwrap()), ["a"]);
    assert_eq!(start.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_wakes_exactly_when_a_job_is_due_also_one_pushed_meanwhile() {
    let driver = MemoryDriver::new();
    driver.store(vec![delayed("late", 50 * SECOND)]).await;
    let start = Instant::now();
    let (wait, polls) = spawn_wait(&driver, MINUTE);
    tokio::time::sleep(SECOND).await;
    driver.store(vec![delayed("soon", 2 * SECOND)]).await;
    tokio::time::sleep(SECOND).await;
    // One that is due after the others changes nothing for the waiter.
    driver.store(vec![delayed("last", MINUTE)]).await;
    assert_eq!(wait.await.unwrap(), ["soon"]);
    assert_eq!(start.elapsed(), 3 * SECOND);
    assert_eq!(polls.load(Ordering::Relaxed), 3);

    let taken = driver.reserve(patient(MINUTE)).await.unwrap();
    assert_eq!(labels(&taken), ["late"]);
    assert_eq!(start.elapsed(), 50 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn any_number_of_jobs_due_behind_their_head_delays_no_other() {
    let driver = MemoryDriver::new();
    driver.store(vec![keyed("head", "k")]).await;
    driver.take_one().await;
    let follower = |n: u32| NewJob {
        delay: SECOND,
        ..keyed(&n.to_string(), "k")
    };
    driver.store((0..5_000).map(follower).collect()).await;
    driver.store(vec![delayed("plain", SECOND)]).await;
    driver.advance(SECOND);
    let start = Instant::now();
    let taken = driver.reserve(patient(MINUTE)).await.unwrap();
    assert_eq!(
        (labels(&taken), start.elapsed()),
        (vec!["plain"], Duration::ZERO)
    );
}

#[tokio::test(start_paused = true)]
async fn jobs_due_behind_their_head_wake_a_waiter_once_each() {
    let driver = MemoryDriver::new();
    driver.store(vec![keyed("a", "k")]).await;
    driver.take_one().await;
    let follower = |delay| NewJob {
        delay,
        ..keyed("b", "k")
    };
    driver
        .store(vec![follower(SECOND), follower(2 * SECOND)])
        .await;
    let (wait, polls) = spawn_wait(&driver, 30 * SECOND);
    assert!(wait.await.unwrap().is_empty());
    assert_eq!(polls.load(Ordering::Relaxed), 4);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_wakes_when_a_lease_ends() {
    let driver = MemoryDriver::new();
    driver.store(vec![job("a")]).await;
    let start = Instant::now();
    let other = async {
        tokio::time::sleep(SECOND).await;
        driver.store(vec![job("b")]).await;
        // Taken before the waiter gets to run: it has to learn of the new lease.
        let brief = ReserveRequest {
            lease: 5 * SECOND,
            ..ask(1)
        };
        assert_eq!(driver.reserve(brief).await.unwrap().len(), 1);
    };
    driver.take_one().await;
    let (taken, ()) = tokio::join!(driver.reserve(patient(30 * SECOND)), other);
    let taken = taken.unwrap();
    assert_eq!((labels(&taken), taken[0].attempt), (vec!["b"], 2));
    assert_eq!(start.elapsed(), 6 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_shortened_lease_is_noticed() {
    let driver = MemoryDriver::new();
    driver.store(vec![job("a")]).await;
    let taken = driver.take_one().await;
    let start = Instant::now();
    let extending = async {
        tokio::time::sleep(SECOND).await;
        driver
            .extend(vec![taken.lease.clone()], SECOND)
            .await
            .unwrap();
    };
    let (again, ()) = tokio::join!(driver.reserve(patient(30 * SECOND)), extending);
    assert_eq!(labels(&again.unwrap()), ["a"]);
    assert_eq!(start.elapsed(), 2 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn what_is_given_back_wakes_a_waiter() {
    let driver = MemoryDriver::new();
    for verdict in [
        release(Duration::ZERO),
        retry(Duration::ZERO),
        dead(),
        ack(),
    ] {
        driver.store(vec![keyed("a", "k"), keyed("b", "k")]).await;
        let taken = driver.take_one().await;
        let ending = async {
            tokio::time::sleep(SECOND).await;
            driver.end(&taken, verdict).await;
        };
        let start = Instant::now();
        let (again, ()) = tokio::join!(driver.reserve(patient(MINUTE)), ending);
        assert_eq!((again.unwrap().len(), start.elapsed()), (1, SECOND));
        driver.advance(MINUTE);
        while let Some(job) = driver.take(1).await.pop() {
            driver.end(&job, ack()).await;
        }
    }

    let start = Instant::now();
    let requeueing = async {
        tokio::time::sleep(SECOND).await;
        assert_eq!(
            driver
                .requeue_dead(&name("q"), Selection::All)
                .await
                .unwrap(),
            1
        );
    };
    let (again, ()) = tokio::join!(driver.reserve(patient(MINUTE)), requeueing);
    assert_eq!(
        (labels(&again.unwrap()), start.elapsed()),
        (vec!["a"], SECOND)
    );
}

#[tokio::test(start_paused = true)]
async fn a_waiter_on_several_queues_hears_of_each() {
    for queue in ["one", "two"] {
        let driver = MemoryDriver::new();
        let queues = ["one", "two"].map(|queue| QueueShare {
            queue: name(queue),
            share: 1,
        });
        let request = ReserveRequest {
            queues: queues.into(),
            ..patient(MINUTE)
        };
        let pushing = async {
            tokio::time::sleep(SECOND).await;
            assert_eq!(waiters(&driver), 2);
            driver
                .store(vec![NewJob {
                    queue: name("other"),
                    ..job("a")
                }])
                .await;
            driver
                .store(vec![NewJob {
                    queue: name(queue),
                    ..job("b")
                }])
                .await;
        };
        let (taken, ()) = tokio::join!(driver.reserve(request), pushing);
        assert_eq!(labels(&taken.unwrap()), ["b"]);
        assert_eq!(waiters(&driver), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn every_waiter_gets_its_job() {
    let driver = MemoryDriver::new();
    let waits: Vec<_> = (0..10)
        .map(|_| {
            let driver = driver.clone();
            let request = ReserveRequest {
                max: 1,
                ..patient(MINUTE)
            };
            tokio::spawn(async move { driver.reserve(request).await.unwrap().len() })
        })
        .collect();
    tokio::time::sleep(SECOND).await;
    let start = Instant::now();
    driver
        .store((0..4).map(|n| job(&n.to_string())).collect())
        .await;
    driver
        .store((4..10).map(|n| job(&n.to_string())).collect())
        .await;
    for wait in waits {
        assert_eq!(wait.await.unwrap(), 1);
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn cancel_ends_the_wait() {
    let driver = MemoryDriver::new();
    let (start, request) = (Instant::now(), patient(MINUTE));
    let cancel = request.cancel.clone();
    let cancelling = async {
        tokio::time::sleep(SECOND).await;
        cancel.cancel();
    };
    let (taken, ()) = tokio::join!(driver.reserve(request.clone()), cancelling);
    assert!(taken.unwrap().is_empty());
    assert_eq!(start.elapsed(), SECOND);
    // Cancelled before it began, it takes nothing.
    driver.store(vec![job("a")]).await;
    assert!(driver.reserve(request).await.unwrap().is_empty());
    assert_eq!(driver.counts().await.ready, 1);
}

#[tokio::test(start_paused = true)]
async fn close_ends_waits_and_refuses_calls_of_every_clone() {
    let driver = MemoryDriver::new();
    let (start, other) = (Instant::now(), driver.clone());
    let closing = async {
        tokio::time::sleep(SECOND).await;
        driver.close().await.unwrap();
    };
    let (taken, ()) = tokio::join!(other.reserve(patient(MINUTE)), closing);
    assert!(taken.unwrap().is_empty());
    assert_eq!(start.elapsed(), SECOND);

    let closed = |error| matches!(error, goqueue_core::Error::Closed { driver: "memory" });
    assert!(closed(other.ping().await.unwrap_err()));
    assert!(closed(other.push(vec![job("a")]).await.unwrap_err()));
    assert!(closed(other.reserve(ask(1)).await.unwrap_err()));
    assert!(closed(other.extend(vec![], SECOND).await.unwrap_err()));
    assert!(closed(other.settle(vec![]).await.unwrap_err()));
    assert!(closed(other.maintain(&[]).await.unwrap_err()));
    assert!(closed(other.stats(&name("q")).await.unwrap_err()));
    assert!(closed(other.purge(&name("q")).await.unwrap_err()));
    driver.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn advance_moves_time_for_a_waiter() {
    let driver = MemoryDriver::new();
    driver.store(vec![delayed("a", 30 * SECOND)]).await;
    let start = Instant::now();
    let advancing = async {
        tokio::time::sleep(SECOND).await;
        driver.advance(20 * SECOND);
        tokio::time::sleep(SECOND).await;
        driver.advance(10 * SECOND);
    };
    let (taken, ()) = tokio::join!(driver.reserve(patient(MINUTE)), advancing);
    assert_eq!(labels(taken.as_ref().unwrap()), ["a"]);
    assert_eq!(start.elapsed(), 2 * SECOND);

    // The wait itself is of the same time.
    driver.end(&taken.unwrap()[0], ack()).await;
    let advancing = async { driver.advance(MINUTE) };
    let (taken, ()) = tokio::join!(driver.reserve(patient(30 * SECOND)), advancing);
    assert!(taken.unwrap().is_empty());
    assert_eq!(start.elapsed(), 2 * SECOND);
}

#[tokio::test]
async fn advance_works_without_a_paused_clock() {
    let driver = MemoryDriver::new();
    driver.store(vec![delayed("a", 100 * MINUTE)]).await;
    driver.advance(99 * MINUTE);
    assert!(driver.take(1).await.is_empty());
    driver.advance(MINUTE);
    assert_eq!(driver.take(1).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_wait_takes_nothing_with_it() {
    let driver = MemoryDriver::new();
    {
        let mut wait = pin!(driver.reserve(patient(MINUTE)));
        assert!(tokio::time::timeout(SECOND, wait.as_mut()).await.is_err());
        driver.store(vec![job("a")]).await;
        // It was woken, and is dropped before it looks again.
    }
    assert_eq!(waiters(&driver), 0);
    let again = driver.take_one().await;
    assert_eq!((label(&again), again.attempt), ("a", 1));
}

#[tokio::test(start_paused = true)]
async fn a_busy_neighbour_leaves_a_waiter_asleep() {
    let driver = MemoryDriver::new();
    let (wait, polls) = spawn_wait(&driver, 2 * MINUTE);
    let queues = vec![QueueShare {
        queue: name("busy"),
        share: 1,
    }];
    for _ in 0..100 {
        tokio::time::sleep(SECOND).await;
        driver
            .store(vec![NewJob {
                queue: name("busy"),
                ..job("a")
            }])
            .await;
        let request = ReserveRequest {
            queues: queues.clone(),
            ..ask(1)
        };
        let taken = driver.reserve(request).await.unwrap().remove(0);
        driver.end(&taken, ack()).await;
    }
    assert!(wait.await.unwrap().is_empty());
    assert_eq!(polls.load(Ordering::Relaxed), 2);
}
