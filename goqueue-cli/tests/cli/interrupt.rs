//! Long operations that are stopped half-way lose nothing, and can be said again.

use std::{collections::BTreeSet, process::Stdio, time::Duration};

use goqueue::{
    JobId, Queue,
    driver::{QueueShare, ReserveRequest},
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::time::{Instant, sleep};

use super::{
    jobs::{mail, many_die},
    places::{Kind, Place},
};

const LETTERS: u64 = 6_000;

/// Ready, dead.
async fn counts(queue: &Queue) -> (u64, u64) {
    let stats = queue.inspect().unwrap().stats(&mail()).await.unwrap();
    (stats.ready, stats.dead)
}

/// Runs the command and sends it a signal once it has moved some letters. Answers its exit code and
/// what it said.
async fn stopped(
    place: &Place,
    queue: &Queue,
    args: &[&str],
    signal: Signal,
) -> (Option<i32>, String) {
    let (_, before) = counts(queue).await;
    let child = place
        .command(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let id = Pid::from_raw(child.id().try_into().unwrap());
    let patience = Instant::now() + Duration::from_secs(60);
    while counts(queue).await.1 == before {
        assert!(Instant::now() < patience, "nothing is moved");
        sleep(Duration::from_millis(1)).await;
    }
    kill(id, signal).unwrap();
    let output = child.wait_with_output().unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

/// Stops a retry with Ctrl-C: it says so, and each job is in one place.
async fn stopped_half_way(place: &Place, queue: &Queue, retry: &[&str], letters: u64) {
    let (code, said) = stopped(place, queue, retry, Signal::SIGINT).await;
    assert_eq!(code, Some(1), "{said}");
    let advice = "goqueue: interrupted\n  help: the rest is where it was";
    assert!(said.contains(advice), "{said}");
    let (ready, dead) = counts(queue).await;
    assert_eq!(ready + dead, letters);
    assert!(
        ready > 0 && dead > 0,
        "{ready} ready, {dead} dead: not half-way"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_that_is_stopped_loses_nothing_and_goes_on() {
    for kind in [Kind::Redis, Kind::Mysql] {
        let place = Place::new(kind).await;
        let queue = place.queue().await;
        many_die(&queue, LETTERS as usize).await;
        let retry = ["dead", "retry", "mail", "--all"];

        stopped_half_way(&place, &queue, &retry, LETTERS).await;

        let (code, _) = stopped(&place, &queue, &retry, Signal::SIGKILL).await;
        assert_eq!(code, None);
        let (ready, dead) = counts(&queue).await;
        assert_eq!(ready + dead, LETTERS);

        place.run(&retry).out();
        assert_eq!(counts(&queue).await, (LETTERS, 0));
        place.leave().await;
    }
}

/// The ids of all jobs that are ready, taken one time each.
async fn take_all(queue: &Queue, at_least: usize) -> Vec<JobId> {
    let mut ids = Vec::new();
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        let request = ReserveRequest {
            queues: vec![QueueShare {
                queue: mail(),
                share: 10,
            }],
            max: 10,
            lease: Duration::from_secs(600),
            wait: Duration::ZERO,
            cancel: Default::default(),
        };
        let taken = queue.driver().reserve(request).await.unwrap();
        if taken.is_empty() && ids.len() >= at_least {
            return ids;
        }
        assert!(Instant::now() < patience, "{} of {at_least}", ids.len());
        ids.extend(taken.into_iter().map(|job| job.lease.id));
    }
}

// Apart, since each waits for a minute.
#[tokio::test(flavor = "multi_thread")]
async fn a_retry_on_sqs_that_is_stopped_loses_nothing_and_goes_on() {
    retry_on_sqs(Kind::Sqs).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_on_fifo_queues_that_is_stopped_loses_nothing_and_goes_on() {
    retry_on_sqs(Kind::SqsFifo).await;
}

async fn retry_on_sqs(kind: Kind) {
    const LETTERS: u64 = 400;
    let place = Place::new(kind).await;
    let queue = place.queue().await;
    many_die(&queue, LETTERS as usize).await;
    let retry = ["dead", "retry", "mail", "--all"];

    // It ends between two batches: each job is in one place, and none is hidden.
    stopped_half_way(&place, &queue, &retry, LETTERS).await;
    // One with a condition holds those that it looks at, and shows them again.
    let some = ["dead", "retry", "mail", "--name", "mail.welcome"];
    let (code, said) = stopped(&place, &queue, &some, Signal::SIGTERM).await;
    assert_eq!(code, Some(1), "{said}");
    let (ready, dead) = counts(&queue).await;
    assert_eq!(ready + dead, LETTERS);
    let listed = place
        .run(&["dead", "list", "mail", "--limit", "1000", "--json"])
        .json();
    let listed = listed["dead_letters"].as_array().unwrap().len();
    assert_eq!(listed as u64, dead, "some are hidden");

    // A crash leaves the batch of that moment in both places, and hidden for a minute.
    let (code, _) = stopped(&place, &queue, &retry, Signal::SIGKILL).await;
    assert_eq!(code, None);
    let (ready, dead) = counts(&queue).await;
    assert!(
        (LETTERS..=LETTERS + 10).contains(&(ready + dead)),
        "{ready} + {dead}"
    );
    let patience = Instant::now() + Duration::from_secs(90);
    while counts(&queue).await.1 > 0 {
        assert!(Instant::now() < patience, "{:?}", counts(&queue).await);
        place.run(&retry).out();
        sleep(Duration::from_secs(1)).await;
    }
    let ids = take_all(&queue, LETTERS as usize).await;
    assert!(ids.len() as u64 <= LETTERS + 10, "{}", ids.len());
    let distinct: BTreeSet<JobId> = ids.into_iter().collect();
    assert_eq!(distinct.len() as u64, LETTERS);
    place.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_is_stopped_goes_on() {
    let place = Place::new(Kind::Redis).await;
    let queue = place.queue().await;
    many_die(&queue, LETTERS as usize).await;
    let purge = ["dead", "purge", "mail", "--yes"];
    let (code, said) = stopped(&place, &queue, &purge, Signal::SIGTERM).await;
    assert_eq!(code, Some(1), "{said}");
    let (_, left) = counts(&queue).await;
    assert!(left > 0 && left < LETTERS, "{left}: not half-way");
    let purged = place.run(&purge).out();
    let shown = goqueue_count(left);
    assert_eq!(
        purged,
        format!("deleted {shown} dead letters of queue `mail`\n")
    );
    assert_eq!(counts(&queue).await, (0, 0));
    place.leave().await;
}

/// As the command writes it.
fn goqueue_count(number: u64) -> String {
    if number < 1_000 {
        return number.to_string();
    }
    format!("{},{:03}", number / 1_000, number % 1_000)
}
