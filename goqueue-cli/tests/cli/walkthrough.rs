//! `docs/src/fixing-failing-jobs.md`, executed: each command is run, and its answer compared with what
//! the page shows.

use std::{path::Path, process::Command};

use super::{
    golden::{id_in, steady},
    jobs::{three_die, work},
    places::{Kind, Place},
    program::{Answer, goqueue, run},
};

const PAGE: &str = include_str!("../../../docs/src/fixing-failing-jobs.md");

/// What the page has to be done, in its order.
enum Step {
    /// The workers run, with the post office open or closed.
    Workers { is_open: bool },
    /// A command, and what it answers.
    Command { line: String, answer: String },
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut is_console = false;
    for line in page.lines() {
        match line {
            "```console" => is_console = true,
            "```" => is_console = false,
            "<!-- workers: the post office is open -->" => {
                steps.push(Step::Workers { is_open: true });
            }
            "<!-- workers: the post office is closed -->" => {
                steps.push(Step::Workers { is_open: false });
            }
            line if is_console => match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(line), _) => steps.push(Step::Command {
                    line: line.into(),
                    answer: String::new(),
                }),
                (None, Some(Step::Command { answer, .. })) => {
                    answer.push_str(line);
                    answer.push('\n');
                }
                (None, _) => panic!("an answer without a command: {line}"),
            },
            _ => {}
        }
    }
    steps
}

/// The page's ids and those of this run, in the order in which they were seen.
#[derive(Default)]
struct Ids(Vec<(String, String)>);

impl Ids {
    fn learn(&mut self, shown: &str, answered: &str) {
        let (mut shown, mut answered) = (shown, answered);
        while let (Some(a), Some(b)) = (id_in(shown), id_in(answered)) {
            let pair = (shown[a..a + 36].to_owned(), answered[b..b + 36].to_owned());
            if !self.0.contains(&pair) {
                self.0.push(pair);
            }
            (shown, answered) = (&shown[a + 36..], &answered[b + 36..]);
        }
    }

    fn in_place(&self, line: &str) -> String {
        let replace = |line: String, (shown, real): &(String, String)| line.replace(shown, real);
        self.0.iter().fold(line.to_owned(), replace)
    }
}

/// Runs a line in a shell in which `goqueue` is the program under test.
fn shell(place: &Place, line: &str) -> Answer {
    let bin = Path::new(env!("CARGO_BIN_EXE_goqueue")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let clean = goqueue();
    let mut command = Command::new("sh");
    for (name, value) in clean.get_envs() {
        if value.is_none() {
            command.env_remove(name);
        }
    }
    command
        .args(["-e", "-c", line])
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("GOQUEUE_CONFIG", &place.config)
        .current_dir(env!("CARGO_TARGET_TMPDIR"));
    run(&mut command)
}

#[tokio::test]
async fn the_walk_through_holds_word_for_word() {
    for kind in [Kind::Redis, Kind::Mysql] {
        let place = Place::new(kind).await;
        let queue = place.queue().await;
        let (mut ids, mut commands) = (Ids::default(), 0);
        for step in steps(PAGE) {
            match step {
                Step::Workers { is_open: false } => three_die(&queue).await,
                Step::Workers { is_open: true } => work(&queue, true).await,
                Step::Command { line, answer } => {
                    let out = shell(&place, &ids.in_place(&line)).out();
                    ids.learn(&answer, &out);
                    assert_eq!(steady(&out), steady(&answer), "{kind:?}: $ {line}");
                    commands += 1;
                }
            }
        }
        assert!(commands >= 10, "only {commands} commands were found");
        place.leave().await;
    }
}
