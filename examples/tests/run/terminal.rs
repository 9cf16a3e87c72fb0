//! The main example on a terminal.

use std::{fs::File, io::Read};

use nix::pty::openpty;
use tokio::{process::Command, task::spawn_blocking, time::timeout};

use super::process::{PATIENCE, example};

/// Runs it on a terminal of its own and answers everything that was written there.
async fn on_terminal(command: &mut Command) -> String {
    let terminal = openpty(None, None).unwrap();
    let mut child = command
        .stdout(terminal.slave.try_clone().unwrap())
        .stderr(terminal.slave)
        .spawn()
        .unwrap();
    // The command holds the other ends open, and reading would never end.
    command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    let screen = spawn_blocking(move || {
        let (mut screen, mut from) = (Vec::new(), File::from(terminal.master));
        // A terminal that nobody writes to any more answers with an error.
        let _ = from.read_to_end(&mut screen);
        String::from_utf8(screen).unwrap()
    });
    assert!(
        timeout(PATIENCE, child.wait())
            .await
            .unwrap()
            .unwrap()
            .success()
    );
    timeout(PATIENCE, screen).await.unwrap().unwrap()
}

#[tokio::test]
async fn files_shows_one_line_that_changes_and_colours_the_result() {
    let screen = on_terminal(example("files").env_remove("NO_COLOR")).await;
    assert!(
        screen.contains("\r\x1b[K[########################]  15/15  "),
        "{screen}"
    );
    assert!(screen.contains("\x1b[32mdone\x1b[0m"), "{screen}");
    assert!(screen.contains("\x1b[31mdead\x1b[0m"), "{screen}");
    for state in screen
        .split("\r\x1b[K")
        .filter(|text| text.starts_with("[#"))
    {
        assert!(state.chars().count() < 80, "wraps at 80 columns: {state}");
    }
}

#[tokio::test]
async fn files_leaves_colours_out_where_they_are_not_wanted() {
    let screen = on_terminal(example("files").env("NO_COLOR", "1")).await;
    assert!(screen.contains("\r\x1b[K["), "no progress: {screen}");
    assert!(
        !screen.contains("\x1b[3") && !screen.contains("\x1b[1m"),
        "{screen}"
    );
}
