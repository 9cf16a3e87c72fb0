//! Services are started, found ready, stopped, and never left behind.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

use common::{XTASK, assert_closed, assert_gone, fresh_dir};
use nix::sys::signal::Signal;
use tokio::time::Instant;
use xtask::services::{Error, Instance, Probe, Service, Services, catalogue};

fn echo() -> Service {
    catalogue::echo(Path::new(XTASK))
}

/// A service that is a shell script. `$1` is its port, `$2` its directory, `$3` the echo server's
/// program.
fn script(name: &str, script: &str) -> Service {
    Service::new(
        name,
        "sh",
        "GOQUEUE_TEST_SCRIPT_URL",
        "tcp://127.0.0.1:{port}",
    )
    .args(["-c", script, name, "{port}", "{dir}", XTASK])
}

fn pid_in(dir: &Path) -> u32 {
    fs::read_to_string(dir.join("pid"))
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

fn start_error(result: Result<Instance, Error>) -> Error {
    result
        .map(|instance| instance.url())
        .expect_err("it must not become ready")
}

#[tokio::test]
async fn a_service_answers_until_it_is_stopped_and_leaves_nothing() {
    let root = fresh_dir("stopped");
    let mut instance = Instance::start(&echo(), &root).await.unwrap();
    let (url, pid) = (instance.url(), instance.id().unwrap());
    assert_eq!(url, format!("tcp://127.0.0.1:{}", instance.port()));
    Probe::reply("are you there?", "are you there?")
        .ask(instance.port(), Duration::from_secs(5))
        .await
        .unwrap();
    assert_eq!(instance.ended().unwrap(), None);

    let status = instance.stop(false).await.unwrap();
    assert_eq!(status.signal(), Some(Signal::SIGTERM as i32));
    assert_gone(pid).await;
    assert_closed(&url).await;
    assert_eq!(fs::read_dir(root.join("echo")).unwrap().count(), 0);
}

#[tokio::test]
async fn the_log_is_kept_when_asked() {
    let instance = Instance::start(&echo(), &fresh_dir("log-kept"))
        .await
        .unwrap();
    let place = instance.place().clone();
    let expected = format!("echo listens on 127.0.0.1:{}\n", instance.port());
    instance.stop(true).await.unwrap();
    assert_eq!(fs::read_to_string(place.log()).unwrap(), expected);
    assert!(!place.data().exists());
}

#[tokio::test]
async fn a_dropped_service_is_killed_and_its_log_stays() {
    let instance = Instance::start(&echo(), &fresh_dir("dropped"))
        .await
        .unwrap();
    let (url, pid, place) = (
        instance.url(),
        instance.id().unwrap(),
        instance.place().clone(),
    );
    drop(instance);
    assert_gone(pid).await;
    assert_closed(&url).await;
    assert!(place.log_tail().starts_with("echo listens on"));
}

#[tokio::test]
async fn what_a_service_started_ends_with_it() {
    let parent = script("parent", r#""$3" __echo-server --port "$1" & wait"#);
    let root = fresh_dir("family");
    let stopped = Instance::start(&parent, &root.join("stopped"))
        .await
        .unwrap();
    let url = stopped.url();
    stopped.stop(false).await.unwrap();
    assert_closed(&url).await;

    let dropped = Instance::start(&parent, &root.join("dropped"))
        .await
        .unwrap();
    let url = dropped.url();
    drop(dropped);
    assert_closed(&url).await;
}

#[tokio::test]
async fn a_service_deaf_to_sigterm_is_killed_after_its_grace() {
    let grace = Duration::from_millis(300);
    let deaf = script(
        "deaf",
        r#"trap '' TERM; exec "$3" __echo-server --port "$1""#,
    );
    let deaf = deaf.stop_within(grace);
    let instance = Instance::start(&deaf, &fresh_dir("deaf")).await.unwrap();
    let asked = Instant::now();
    let status = instance.stop(false).await.unwrap();
    assert_eq!(status.signal(), Some(Signal::SIGKILL as i32));
    assert!(
        asked.elapsed() >= grace,
        "killed after {:?}",
        asked.elapsed()
    );
}

#[tokio::test]
async fn one_that_never_gets_ready_shows_the_end_of_its_log() {
    let script = script(
        "stuck",
        "echo $$ > \"$2/../pid\"; seq 30; echo still loading; sleep 60",
    );
    let stuck = script.ready(Probe::Connect, Duration::from_secs(1));
    let root = fresh_dir("stuck");
    let error = start_error(Instance::start(&stuck, &root).await);
    let text = error.to_string();
    let Error::NotReady { log, tail, .. } = error else {
        panic!("{error:?}")
    };
    assert!(
        tail.starts_with("12\n13\n") && tail.ends_with("30\nstill loading"),
        "{tail}"
    );
    assert!(text.starts_with("`stuck` was not ready after 1s"), "{text}");
    assert!(
        text.contains(log.to_str().unwrap()) && text.ends_with("still loading"),
        "{text}"
    );
    assert_gone(pid_in(log.parent().unwrap())).await;
}

#[tokio::test]
async fn a_wrong_answer_is_not_ready() {
    let probe = Probe::reply("PING\r\n", "+PONG");
    let confused = echo().ready(probe, Duration::from_millis(300));
    let error = start_error(Instance::start(&confused, &fresh_dir("confused")).await);
    let Error::NotReady { reason, .. } = error else {
        panic!("{error:?}")
    };
    assert!(reason.starts_with("no answer in "), "{reason}");
}

#[tokio::test]
async fn one_that_ends_at_once_shows_its_status_and_log() {
    let broken = script("broken", "echo 'no such option: --x' >&2; exit 3");
    let error = start_error(Instance::start(&broken, &fresh_dir("broken")).await);
    let text = error.to_string();
    let Error::Ended { status, tail, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!(
        (status.code(), tail.as_str()),
        (Some(3), "no such option: --x")
    );
    assert!(
        text.contains("exit status: 3") && text.ends_with("--x"),
        "{text}"
    );
}

#[tokio::test]
async fn what_sets_a_service_up_comes_first() {
    let with_data = r#"grep -q prepared "$2/data" && exec "$3" __echo-server --port "$1""#;
    let prepared = script("prepared", with_data).setup(
        "sh",
        ["-c", "echo preparing; echo prepared > \"$0/data\"", "{dir}"],
    );
    let instance = Instance::start(&prepared, &fresh_dir("setup"))
        .await
        .unwrap();
    let tail = instance.place().log_tail();
    assert!(tail.starts_with("preparing\necho listens on "), "{tail}");
    instance.stop(false).await.unwrap();
}

#[tokio::test]
async fn a_setup_that_fails_shows_its_log() {
    let broken = echo().setup("sh", ["-c", "echo disk full; exit 4"]);
    let error = start_error(Instance::start(&broken, &fresh_dir("broken-setup")).await);
    let text = error.to_string();
    assert!(matches!(error, Error::Setup { .. }), "{error:?}");
    assert!(
        text.starts_with("`echo`: `sh` failed (exit status: 4)"),
        "{text}"
    );
    assert!(text.ends_with("disk full"), "{text}");
}

#[tokio::test]
async fn another_port_is_tried_when_the_first_was_taken() {
    let once = r#"if mkdir "$2/../../../tried"; then echo "bind: Address already in use"; exit 1; fi
        exec "$3" __echo-server --port "$1""#;
    let root = fresh_dir("port-taken");
    let instance = Instance::start(&script("unlucky", once), &root)
        .await
        .unwrap();
    assert!(root.join("tried").exists());
    instance.stop(false).await.unwrap();
}

#[tokio::test]
async fn services_start_at_once_and_tell_their_urls() {
    let together = r#"touch "$2/../../../$0.met"
        until [ -e "$2/../../../one.met" ] && [ -e "$2/../../../two.met" ]; do sleep 0.02; done
        exec "$3" __echo-server --port "$1""#;
    let wanted = [script("one", together), script("two", together)];
    let services = Services::start(&wanted, Vec::new(), &fresh_dir("together"))
        .await
        .unwrap();
    let environment: Vec<_> = services.environment().collect();
    assert_eq!(environment.len(), 2);
    for ((variable, url), line) in environment.iter().zip(services.describe()) {
        assert_eq!(*variable, "GOQUEUE_TEST_SCRIPT_URL");
        assert!(url.starts_with("tcp://127.0.0.1:"), "{url}");
        assert!(
            line.ends_with(&format!(": started for this run at {url}")),
            "{line}"
        );
    }
    let remains = services.stop(false).await;
    assert!(
        remains.logs.is_empty() && remains.problems.is_empty(),
        "{remains:?}"
    );
}

#[tokio::test]
async fn when_one_fails_to_start_the_others_are_killed() {
    let steady = r#"echo $$ > "$2/../pid"; exec "$3" __echo-server --port "$1""#;
    let failing = r#"until [ -s "$2"/../../../steady/*/pid ]; do sleep 0.02; done; exit 1"#;
    let wanted = [script("steady", steady), script("failing", failing)];
    let root = fresh_dir("one-fails");
    let error = Services::start(&wanted, Vec::new(), &root)
        .await
        .expect_err("one fails");
    assert!(
        matches!(&error, Error::Ended { service, .. } if service == "failing"),
        "{error}"
    );
    let place = root.join("steady").join(std::process::id().to_string());
    assert_gone(pid_in(&place)).await;
}

#[tokio::test]
async fn one_that_ends_during_the_run_is_reported_with_its_log() {
    let brief = r#"echo $$ > "$2/../pid"; "$3" __echo-server --port "$1" &
        until [ -e "$2/../../../end" ]; do sleep 0.02; done
        echo out of memory; exit 9"#;
    let root = fresh_dir("brief");
    let services = Services::start(&[script("brief", brief)], Vec::new(), &root)
        .await
        .unwrap();
    fs::write(root.join("end"), "").unwrap();
    assert_gone(pid_in(
        &root.join("brief").join(std::process::id().to_string()),
    ))
    .await;
    let remains = services.stop(false).await;
    assert_eq!(
        remains.problems,
        ["`brief` ended during the run (exit status: 9)"]
    );
    let log = fs::read_to_string(&remains.logs[0]).unwrap();
    assert!(log.ends_with("out of memory\n"), "{log}");
}
