//! The examples of one subject each.

use nix::sys::signal::Signal;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    time::timeout,
};

use super::process::{PATIENCE, example, run, signal, wait_for};

#[tokio::test]
async fn shared_state_counts_every_sale_once() {
    let (code, said, error) = run(&mut example("shared_state")).await;
    assert_eq!(code, Some(0), "{error}");
    assert!(
        said.contains("(permanent): there is no article `unicorn`"),
        "{said}"
    );
    assert!(said.ends_with("7 jobs ran; sold for 25.40\n"), "{said}");
}

#[tokio::test]
async fn custom_middleware_refuses_and_limits() {
    let (code, said, error) = run(&mut example("custom_middleware")).await;
    assert_eq!(code, Some(0), "{error}");
    let started = |line: &str| {
        line.split(" ms: building")
            .next()?
            .trim()
            .parse::<u64>()
            .ok()
    };
    let mut started: Vec<_> = said.lines().filter_map(started).collect();
    started.sort_unstable();
    assert_eq!(started.len(), 4, "{said}");
    assert!(
        started[1] < 300 && started[2] >= 300,
        "two at a time: {said}"
    );
    assert!(
        said.contains("failed: the header `tenant` is missing"),
        "{said}"
    );
}

#[tokio::test]
async fn graceful_shutdown_gives_back_what_it_cannot_finish() {
    let (code, said, error) = run(example("graceful_shutdown").arg("--demo")).await;
    assert_eq!(code, Some(0), "{error}");
    assert!(said.contains("short: finished"), "{said}");
    assert!(said.contains("film: told to stop"), "{said}");
    assert!(
        said.contains("Report { finished: 2, released: 2, abandoned: 0 }"),
        "{said}"
    );
    let waiting: Vec<_> = said
        .lines()
        .filter(|line| line.contains("0 attempts spent"))
        .collect();
    assert_eq!(waiting.len(), 3, "{said}");

    let (code, _, error) = run(example("graceful_shutdown").arg("--now")).await;
    assert_eq!(code, Some(2));
    assert_eq!(
        error,
        "error: unknown argument `--now`: allowed is `--demo`\n"
    );
}

#[tokio::test]
async fn graceful_shutdown_hears_sigterm() {
    let mut child = example("graceful_shutdown").spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    wait_for(&mut lines, "series: started").await;
    signal(&child, Signal::SIGTERM);
    let report = wait_for(&mut lines, "Report").await;
    assert!(report.contains("released: 2, abandoned: 0"), "{report}");
    assert_eq!(
        timeout(PATIENCE, child.wait())
            .await
            .unwrap()
            .unwrap()
            .code(),
        Some(0)
    );
}

#[tokio::test]
async fn retries_and_snooze_shows_every_answer() {
    let (code, said, error) = run(&mut example("retries_and_snooze")).await;
    assert_eq!(code, Some(0), "{error}");
    for line in [
        ".max_delay(10s)   2s  4s  8s  10s  10s  10s",
        "Done       1        succeeded",
        "Error      1        again in 50ms       the server said 500",
        "Error      2        again in 100ms      the server said 500",
        "Error      3        dead: exhausted     the server said 500",
        "RetryIn    2        again in 120ms      the server said 503, Retry-After",
        "Permanent  1        dead: permanent     the server said 404",
        "Snooze     1        snoozed for 250ms",
        "Snooze     1        succeeded",
        "Discard    1        discarded           the account was closed",
        "Panic      3        dead: exhausted     panicked: index out of bounds",
        "TooSlow    3        dead: exhausted     timed out after 100ms",
    ] {
        assert!(
            said.lines().any(|said| said == line),
            "`{line}` is not in\n{said}"
        );
    }
}

#[tokio::test]
async fn log_groups_lose_nothing_when_a_consumer_is_killed() {
    let (code, said, error) = run(&mut example("log_groups")).await;
    assert_eq!(code, Some(0), "{said}{error}");
    assert!(
        said.starts_with("published 360 events of 12 orders\n"),
        "{said}"
    );
    assert!(said.contains("billing-1 is killed\n"), "{said}");
    assert!(said.contains("lag: billing   0, mail   0\n"), "{said}");
    assert!(
        said.ends_with("every group has acked everything\n"),
        "{said}"
    );
    let line = said.lines().find(|line| line.starts_with("lag: ")).unwrap();
    assert!(
        line.starts_with("lag: billing 3"),
        "nothing is acked at first: {line}"
    );
}

#[tokio::test]
async fn log_groups_names_a_url_that_has_no_log() {
    let (code, _, error) = run(example("log_groups").arg("nosql://x")).await;
    assert_eq!(code, Some(1), "{error}");
    assert!(
        error.starts_with("error: unknown driver `nosql`"),
        "{error}"
    );
}

#[tokio::test]
async fn rate_limited_api_is_never_asked_too_often() {
    let (code, said, error) = run(&mut example("rate_limited_api")).await;
    assert_eq!(code, Some(0), "{error}");
    let calls: Vec<_> = said
        .lines()
        .filter(|line| line.contains("contact"))
        .collect();
    assert_eq!(calls.len(), 20, "{said}");
    // While the API is down, only the first to notice and those that try it spend attempts.
    let first = calls.iter().filter(|line| line.ends_with("attempt 1"));
    assert!(first.count() >= 8, "{said}");
    let last = said.lines().last().unwrap();
    assert!(last.starts_with("20 done, 0 dead; "), "{said}");
    assert!(last.contains("refused 0 calls"), "{said}");
}

#[tokio::test]
async fn cross_driver_dead_letters_arrive_though_the_sink_fails_at_first() {
    let (code, said, error) = run(&mut example("cross_driver_dead_letters")).await;
    assert_eq!(code, Some(0), "{error}");
    for line in [
        "the bell is broken; its letter is tried again",
        "bell: row 1 has no price",
        "bell: row 3 has no price",
        "4 rows ran",
        "0 dead letters in the jobs' own backend",
        r#"review: `import.row` {"row":1} from `imports`, permanent after 1 attempt(s): row 1 has no price"#,
        r#"review: `import.row` {"row":3} from `imports`, permanent after 1 attempt(s): row 3 has no price"#,
        "2 letters reviewed",
    ] {
        assert_eq!(
            said.lines().filter(|said| *said == line).count(),
            1,
            "{line}\n{said}"
        );
    }
}
