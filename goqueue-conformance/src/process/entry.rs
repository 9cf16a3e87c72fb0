use std::{collections::BTreeMap, io::BufRead, time::Duration};

use super::{ARGUMENTS, Arguments, CHILD, Child, Program, say};
use crate::{
    check::promise,
    harness::{Harness, RealTime},
};

/// The test that [`suite!`](crate::suite) calls `child_entry`.
///
/// # Panics
/// When a child cannot be started, frozen or killed.
pub fn child_entry(harness: &dyn Harness) {
    match std::env::var(CHILD) {
        Ok(asked) => become_child(harness, &asked),
        Err(_) => RealTime(harness).runtime().block_on(check(harness.name())),
    }
}

fn become_child(harness: &dyn Harness, asked: &str) {
    // Every suite of the binary is asked; only one is meant.
    let Some((suite, program)) = asked.rsplit_once(':') else {
        return;
    };
    if suite != harness.name() {
        return;
    }
    let program = Program::named(program);
    let arguments = std::env::var(ARGUMENTS).unwrap_or_else(|_| "{}".into());
    let arguments: BTreeMap<_, _> = serde_json::from_str(&arguments).expect("arguments decode");
    std::thread::spawn(leave_with_the_parent);
    crate::tools::install_logs();
    program.run(harness, &Arguments(arguments));
}

/// Answers pings until the parent is gone, and then leaves too.
fn leave_with_the_parent() {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if line == "ping" {
            say("pong");
        }
    }
    std::process::exit(1);
}

async fn check(suite: &str) {
    const SOON: Duration = Duration::from_secs(10);
    let arguments = Arguments::default().with("greeting", &"good morning");
    let mut child = Child::start(suite, Program::Echo, &arguments);
    let said = child.hear("started ", SOON).await;
    promise!(said == "good morning", "a child gets its arguments"; "it said `{said}`");

    child.tell("ping");
    child.hear("pong", SOON).await;
    child.freeze();
    child.tell("ping");
    let said = child.listen("pong", Duration::from_millis(300)).await;
    promise!(said.is_none(), "a frozen child does nothing"; "it answered");
    child.thaw();
    child.hear("pong", SOON).await;

    let status = child.kill();
    promise!(!status.success(), "a killed child does not succeed"; "{status}");
    promise!(!child.exists(), "a killed child is reaped"; "it is still there");
}
