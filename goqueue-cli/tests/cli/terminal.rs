//! The command on a terminal of its own: the live view, and questions.

use std::{
    fs::File,
    io::{Read, Write},
    num::NonZero,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use nix::pty::{Winsize, openpty};
use tokio::time::{Instant, sleep};

use super::{
    jobs::{many_die, three_die},
    places::{Kind, Place},
    program::{goqueue, run},
};

const ROWS: u16 = 24;
const COLUMNS: u16 = 80;
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with a program on it.
struct Terminal {
    child: Child,
    keys: File,
    /// Everything that was written.
    written: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    fn start(command: &Command) -> Self {
        let size = Winsize {
            ws_row: ROWS,
            ws_col: COLUMNS,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pty = openpty(&size, None).unwrap();
        // Otherwise it would be asked of the terminal that the tests run on how large it is.
        let mut on_terminal = Command::new("setsid");
        on_terminal
            .args(["--ctty", "--wait"])
            .arg(command.get_program())
            .args(command.get_args());
        on_terminal
            .env("TERM", "xterm-256color")
            .current_dir(env!("CARGO_TARGET_TMPDIR"));
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => on_terminal.env(name, value),
                None => on_terminal.env_remove(name),
            };
        }
        let child = on_terminal
            .stdin(pty.slave.try_clone().unwrap())
            .stdout(pty.slave.try_clone().unwrap())
            .stderr(Stdio::from(pty.slave))
            .spawn()
            .unwrap();
        drop(on_terminal);
        let written: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (into, mut from) = (
            Arc::clone(&written),
            File::from(pty.master.try_clone().unwrap()),
        );
        std::thread::spawn(move || {
            let mut some = [0; 4096];
            // A terminal that nobody writes to any more answers with an error.
            while let Ok(count @ 1..) = from.read(&mut some) {
                let mut into = into.lock().unwrap_or_else(PoisonError::into_inner);
                into.extend_from_slice(&some[..count]);
            }
        });
        Self {
            child,
            keys: File::from(pty.master),
            written,
        }
    }

    fn written(&self) -> Vec<u8> {
        self.written
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn screen(&self) -> vt100::Parser {
        let mut screen = vt100::Parser::new(side(ROWS), side(COLUMNS), 0);
        screen.process(&self.written());
        screen
    }

    /// Waits until the screen shows a text, and answers what is on it.
    async fn shows(&self, text: &str) -> String {
        self.shows_all(&[text]).await
    }

    async fn shows_all(&self, texts: &[&str]) -> String {
        let patience = Instant::now() + PATIENCE;
        loop {
            let contents = self.screen().screen().contents();
            if texts.iter().all(|text| contents.contains(text)) {
                return contents;
            }
            assert!(
                Instant::now() < patience,
                "{texts:?} are not on the screen:\n{contents}"
            );
            sleep(Duration::from_millis(20)).await;
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    async fn code(&mut self) -> Option<i32> {
        let patience = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                // What was written last may still be on its way.
                sleep(Duration::from_millis(100)).await;
                return status.code();
            }
            assert!(Instant::now() < patience, "it does not end");
            sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn side(length: u16) -> NonZero<u16> {
    NonZero::new(length).unwrap()
}

fn has_colour(written: &[u8]) -> bool {
    let text = String::from_utf8_lossy(written);
    ["\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[38"]
        .iter()
        .any(|code| text.contains(code))
}

const WATCH: [&str; 4] = ["stats", "--watch", "--interval", "150ms"];

#[tokio::test]
async fn the_live_view_follows_the_queues_and_leaves_the_screen_as_it_was() {
    for kind in Kind::ALL {
        let place = Place::new(kind).await;
        let queue = place.queue().await;
        three_die(&queue).await;
        let mut terminal = Terminal::start(&place.command(&WATCH));
        let shown = terminal
            .shows_all(&["QUEUE", "mail", "all", "q ends"])
            .await;
        assert!(terminal.screen().screen().alternate_screen());
        assert!(terminal.screen().screen().hide_cursor());
        assert!(
            shown
                .lines()
                .all(|line| line.trim_end().chars().count() <= 80),
            "{shown}"
        );
        assert!(!shown.contains("root@"), "{shown}");
        let row = |shown: &str| {
            let line = shown
                .lines()
                .find(|line| line.starts_with("mail "))
                .unwrap();
            let cells: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            (cells[1].clone(), cells[4].clone())
        };
        assert_eq!(row(&shown), ("0".into(), "3".into()), "{shown}");

        for n in 0..7 {
            place
                .run(&["enqueue", "n", &n.to_string(), "--queue", "mail"])
                .out();
        }
        let patience = Instant::now() + PATIENCE;
        while row(&terminal.screen().screen().contents()).0 != "7" {
            assert!(
                Instant::now() < patience,
                "{}",
                terminal.screen().screen().contents()
            );
            sleep(Duration::from_millis(20)).await;
        }
        // It grew by seven within the last seconds.
        terminal.shows("+").await;

        terminal.press("q");
        assert_eq!(terminal.code().await, Some(0));
        assert!(!terminal.screen().screen().alternate_screen());
        assert!(!terminal.screen().screen().hide_cursor());
        assert!(has_colour(&terminal.written()));
        place.leave().await;
    }
}

#[tokio::test]
async fn no_colour_is_asked_for_in_words_and_control_c_ends_it() {
    let place = Place::new(Kind::Redis).await;
    three_die(&place.queue().await).await;
    let mut terminal = Terminal::start(place.command(&WATCH).env("NO_COLOR", "1"));
    terminal.shows("mail").await;
    terminal.press("\u{3}");
    assert_eq!(terminal.code().await, Some(0));
    assert!(!has_colour(&terminal.written()));
    assert!(!terminal.screen().screen().alternate_screen());

    // Tables as well.
    let mut plain = Terminal::start(place.command(&["queues"]).env("NO_COLOR", "1"));
    plain.shows("DEAD").await;
    assert_eq!(plain.code().await, Some(0));
    assert!(!has_colour(&plain.written()));
    let mut coloured = Terminal::start(&place.command(&["queues"]));
    coloured.shows("DEAD").await;
    assert_eq!(coloured.code().await, Some(0));
    assert!(has_colour(&coloured.written()));
    place.leave().await;
}

#[tokio::test]
async fn into_a_pipe_go_plain_lines() {
    let place = Place::new(Kind::Redis).await;
    three_die(&place.queue().await).await;
    let args = [
        "stats",
        "mail",
        "--watch",
        "--count",
        "2",
        "--interval",
        "100ms",
    ];
    let text = place.run(&args).out();
    assert_eq!(text.lines().count(), 2, "{text}");
    for line in text.lines() {
        assert!(line.contains("  mail  ready 0 ("), "{line}");
        assert!(
            line.contains("  dead 3 (") && line.ends_with("  oldest -"),
            "{line}"
        );
    }
    assert!(!text.contains('\u{1b}') && !text.contains('\r'));
    place.leave().await;
}

#[tokio::test]
async fn long_errors_are_cut_on_a_terminal_and_whole_in_a_pipe() {
    let place = Place::new(Kind::Redis).await;
    three_die(&place.queue().await).await;
    let mut terminal = Terminal::start(&place.command(&["dead", "list", "mail"]));
    let shown = terminal.shows("3 of the 3 dead letters").await;
    assert_eq!(terminal.code().await, Some(0));
    let rows = shown
        .lines()
        .filter(|line| line.contains("mail.welcome"))
        .count();
    assert_eq!(rows, 2, "{shown}");
    let piped = place.run(&["dead", "list", "mail"]).out();
    assert!(
        piped.contains("the post office is closed: connection refused\n"),
        "{piped}"
    );
    place.leave().await;
}

#[tokio::test]
async fn a_question_is_asked_and_only_yes_is_yes() {
    let place = Place::new(Kind::Redis).await;
    three_die(&place.queue().await).await;
    let purge = place.command(&["dead", "purge", "mail"]);
    for (answer, code, left) in [("\n", 1, 3), ("no\n", 1, 3), ("y\n", 0, 0)] {
        let mut terminal = Terminal::start(&purge);
        terminal
            .shows("this deletes 3 dead letters of queue `mail` for good. Go on? [y/N]")
            .await;
        terminal.press(answer);
        assert_eq!(terminal.code().await, Some(code), "{answer:?}");
        let said = if code == 0 {
            "deleted 3 dead letters"
        } else {
            "nothing was changed"
        };
        terminal.shows(said).await;
        let stats = place.run(&["stats", "mail", "--json"]).json();
        assert_eq!(stats["queues"][0]["dead"], left);
    }
    place.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn how_far_it_is_is_shown_on_a_terminal_and_nowhere_else() {
    for (kind, count) in [
        (Kind::Redis, 6_000),
        (Kind::Mysql, 6_000),
        (Kind::Sqs, 1_000),
    ] {
        let place = Place::new(kind).await;
        let queue = place.queue().await;
        many_die(&queue, count).await;
        for (args, doing, done) in [
            (
                &["dead", "retry", "mail", "--all"][..],
                "retrying",
                "retried",
            ),
            (&["purge", "mail", "--yes"], "removing", "removed"),
        ] {
            let mut terminal = Terminal::start(&place.command(args));
            assert_eq!(terminal.code().await, Some(0));
            let written = String::from_utf8_lossy(&terminal.written()).into_owned();
            let drawn: Vec<&str> = written.split("\r\u{1b}[K").collect();
            // A purge of the others is over before the first look at how far it is.
            if kind == Kind::Sqs || args[0] == "dead" {
                assert!(drawn.len() > 2, "{kind:?}: {written}");
            }
            let lines = &drawn[1..drawn.len().max(2) - 1];
            let of = if count == 1_000 {
                " of 1,000"
            } else {
                " of 6,000"
            };
            for line in lines {
                let is_it = line.starts_with(doing) && line.ends_with(of);
                assert!(is_it, "{kind:?}: {line}");
            }
            let contents = terminal.screen().screen().contents();
            assert!(contents.starts_with(done), "{kind:?}: {contents}");
        }
        many_die(&queue, count).await;
        let piped = place.run(&["dead", "purge", "mail", "--yes"]);
        assert_eq!((piped.code, piped.stderr.as_str()), (Some(0), ""));
        place.leave().await;
    }
}

#[tokio::test]
async fn a_view_without_its_backend_ends_before_it_takes_the_screen() {
    let args = ["stats", "--watch", "--driver", "redis://127.0.0.1:1"];
    let mut terminal = Terminal::start(goqueue().args(args));
    terminal.shows("failed to connect").await;
    assert_eq!(terminal.code().await, Some(1));
    assert!(!String::from_utf8_lossy(&terminal.written()).contains("\x1b[?1049h"));
    let piped = run(goqueue().args(args));
    assert_eq!(piped.code, Some(1), "{piped:?}");
}
