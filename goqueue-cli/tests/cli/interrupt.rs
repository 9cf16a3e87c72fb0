//! Long operations that are stopped half-way lose nothing, and can be said again.

use std::{process::Stdio, time::Duration};

use goqueue::Queue;
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

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_that_is_stopped_loses_nothing_and_goes_on() {
    for kind in [Kind::Redis, Kind::Mysql] {
        let place = Place::new(kind).await;
        let queue = place.queue().await;
        many_die(&queue, LETTERS as usize).await;
        let retry = ["dead", "retry", "mail", "--all"];

        let (code, said) = stopped(&place, &queue, &retry, Signal::SIGINT).await;
        assert_eq!(code, Some(1), "{said}");
        assert!(
            said.contains("goqueue: interrupted\n  help: the rest is where it was"),
            "{said}"
        );
        let (ready, dead) = counts(&queue).await;
        assert_eq!(ready + dead, LETTERS);
        assert!(
            ready > 0 && dead > 0,
            "{ready} ready, {dead} dead: not half-way"
        );

        let (code, _) = stopped(&place, &queue, &retry, Signal::SIGKILL).await;
        assert_eq!(code, None);
        let (ready, dead) = counts(&queue).await;
        assert_eq!(ready + dead, LETTERS);

        place.run(&retry).out();
        assert_eq!(counts(&queue).await, (LETTERS, 0));
        place.leave().await;
    }
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
