//! Dead letters under hands that are slow, quick or gone.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{collections::BTreeSet, time::Duration};

use goqueue_core::{
    JobId,
    driver::{Driver, Inspect, NewJob, PageRequest, Selection, Settlement},
};
use goqueue_sqs::SqsDriver;
use support::*;
use tokio::{
    task::JoinHandle,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

const KINDS: [Kind; 2] = [Kind::Standard, Kind::Fifo];

/// Takes jobs and lets them die, until it is told to stop.
fn hopeless(url: &str, stop: &CancellationToken) -> JoinHandle<usize> {
    let (url, stop) = (url.to_owned(), stop.clone());
    tokio::spawn(async move {
        let driver = connect(&url).await;
        let mut died = 0;
        while !stop.is_cancelled() {
            for job in take(&driver, "q", 10).await {
                settle(&driver, &job.lease, dead("no hope")).await;
                died += 1;
            }
        }
        driver.close().await.unwrap();
        died
    })
}

/// So many letters; answers their jobs.
async fn letters(driver: &SqsDriver, count: usize) -> BTreeSet<JobId> {
    let jobs: Vec<NewJob> = (0..count).map(|_| job("q", "body")).collect();
    let ids = jobs.iter().map(|job| job.id).collect();
    die(driver, jobs).await;
    ids
}

async fn die(driver: &SqsDriver, jobs: Vec<NewJob>) {
    let mut left = jobs.len();
    driver.push(jobs).await.unwrap();
    while left > 0 {
        let taken = take(driver, "q", 10).await;
        left -= taken.len();
        let settlements = taken.into_iter().map(|job| Settlement {
            lease: job.lease,
            verdict: dead("no hope"),
        });
        driver.settle(settlements.collect()).await.unwrap();
    }
}

async fn listed(driver: &SqsDriver) -> BTreeSet<JobId> {
    let page = PageRequest::first(10_000);
    let letters = driver.dead_letters(&queue("q"), page).await.unwrap();
    letters.items.into_iter().map(|letter| letter.id).collect()
}

/// Every job that is ready.
async fn taken(driver: &SqsDriver) -> BTreeSet<JobId> {
    let mut ids = BTreeSet::new();
    while driver.stats(&queue("q")).await.unwrap().ready > 0 {
        let jobs = take(driver, "q", 10).await;
        ids.extend(jobs.into_iter().map(|job| job.lease.id));
    }
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_dies_again_meanwhile_keeps_its_new_letter() {
    for kind in KINDS {
        let url = MINISTACK.url(kind);
        let driver = connect(&url).await;
        let all = letters(&driver, 80).await;
        let stop = CancellationToken::new();
        let worker = hopeless(&url, &stop);
        let requeued = driver.requeue_dead(&queue("q"), Selection::All).await;
        assert_eq!(requeued.unwrap(), 80, "each once");
        stop.cancel();
        let died = worker.await.unwrap();
        assert!(died > 0, "none died meanwhile");
        let mut left = listed(&driver).await;
        left.extend(taken(&driver).await);
        assert_eq!(left, all, "{died} died");
        driver.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_second_letter_of_a_job_goes_with_the_first() {
    let name = queue("q");
    for is_retry in [true, false] {
        let driver = connect(&MINISTACK.url(Kind::Standard)).await;
        let one = job("q", "body");
        let id = one.id;
        // As after an answer that was lost.
        let twin = NewJob {
            id,
            ..job("q", "body")
        };
        die(&driver, vec![one, twin]).await;
        assert_eq!(driver.stats(&name).await.unwrap().dead, 2);
        let which = Selection::Ids(vec![id]);
        let done = if is_retry {
            driver.requeue_dead(&name, which).await.unwrap()
        } else {
            driver.delete_dead(&name, which).await.unwrap()
        };
        let stats = driver.stats(&name).await.unwrap();
        let ready = u64::from(is_retry);
        assert_eq!((done, stats.ready, stats.dead), (1, ready, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_gives_up_half_way_leaves_each_job_in_one_place_for_all_to_see() {
    const LETTERS: usize = 100;
    for kind in KINDS {
        let url = MINISTACK.url(kind);
        let maker = connect(&url).await;
        let all = letters(&maker, LETTERS).await;
        let (mut were_cut, mut ready) = (0, 0);
        // Each time at another moment.
        for pause in (20..).step_by(7) {
            let driver = connect(&url).await;
            let name = queue("q");
            let every_other = all.iter().copied().step_by(2).collect();
            let cut = match pause % 3 {
                0 => timeout(Duration::from_millis(pause), async {
                    driver.requeue_dead(&name, Selection::All).await.unwrap();
                })
                .await
                .is_err(),
                1 => timeout(Duration::from_millis(pause), async {
                    let which = Selection::Ids(every_other);
                    driver.requeue_dead(&name, which).await.unwrap();
                })
                .await
                .is_err(),
                _ => timeout(Duration::from_millis(pause), async {
                    listed(&driver).await;
                })
                .await
                .is_err(),
            };
            were_cut += usize::from(cut);
            driver.close().await.unwrap();
            let stats = maker.stats(&name).await.unwrap();
            assert_eq!(stats.ready + stats.dead, LETTERS as u64, "{stats:?}");
            let shown = listed(&maker).await;
            assert_eq!(shown.len() as u64, stats.dead, "some are hidden");
            ready = stats.ready;
            if shown.is_empty() {
                break;
            }
        }
        assert!(were_cut >= 3, "{were_cut} were cut short");
        assert_eq!(ready, LETTERS as u64);
        assert_eq!(taken(&maker).await, all);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_hides_no_letter_for_longer_than_it_lasts() {
    for kind in KINDS {
        let driver = connect(&MINISTACK.url(kind)).await;
        let all = letters(&driver, 25).await;
        let began = Instant::now();
        for _ in 0..3 {
            assert_eq!(listed(&driver).await, all);
        }
        let id = *all.first().unwrap();
        let found = driver.dead_letter(&queue("q"), id).await.unwrap();
        assert_eq!(found.map(|letter| letter.id), Some(id));
        assert_eq!(listed(&driver).await, all);
        assert!(began.elapsed() < Duration::from_secs(30), "it waited");
    }
}
