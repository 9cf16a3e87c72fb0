//! The service to copy from: how it starts and stops.

use std::path::Path;

use nix::sys::signal::Signal;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    time::timeout,
};

use super::process::{PATIENCE, example, run, signal, wait_for};

#[tokio::test]
async fn quickstart_works_until_it_is_told_to_stop() {
    let mut child = example("quickstart").spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    let sent = wait_for(&mut log, "welcome mail sent to user 1").await;
    assert!(
        sent.contains("job.name=\"mail.welcome\" job.attempt=1"),
        "outside of its span: {sent}"
    );
    signal(&child, Signal::SIGTERM);
    let output = timeout(PATIENCE, child.wait_with_output())
        .await
        .unwrap()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("until you press Ctrl-C"), "{said}");
    assert!(
        said.ends_with("Stopped: 1 finished, 0 given back.\n"),
        "{said}"
    );
}

#[tokio::test]
async fn quickstart_takes_its_settings_from_the_file_and_the_environment() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("quickstart.toml");
    std::fs::write(&file, "[worker]\nlease = \"1h\"\nconcurrency = 0").unwrap();
    for (variable, value, expected) in [
        (
            "GOQUEUE_CONFIG",
            file.to_str().unwrap(),
            "worker.concurrency",
        ),
        ("GOQUEUE_WORKER__LEASE", "soon", "GOQUEUE_WORKER__LEASE"),
        ("GOQUEUE_WORKER__QUEUES__MAIL", "0", "worker.queues.mail"),
        ("GOQUEUE_DRIVER", "carrier-pigeon://", "carrier-pigeon"),
    ] {
        let (code, _, error) = run(example("quickstart").env(variable, value)).await;
        assert_eq!(code, Some(1), "{variable}: {error}");
        assert!(error.contains(expected), "{variable}: {error}");
    }
}
