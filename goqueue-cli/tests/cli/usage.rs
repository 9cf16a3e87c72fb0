//! Command lines: exit codes, help, completions, mistakes.

use std::io::Write;

use super::program::{file, goqueue, run};

fn say(args: &[&str]) -> super::program::Answer {
    run(goqueue().args(args))
}

#[test]
fn what_cannot_be_carried_out_says_what_was_given_and_what_is_allowed() {
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["quueues"],
            &["unrecognized subcommand 'quueues'", "queues"],
        ),
        (
            &["stats", "mail queue"],
            &["'mail queue'", "1 to 64 ASCII letters"],
        ),
        (
            &["peek", "mail", "--state", "dead"],
            &["'dead'", "`ready`, `scheduled` or `running`"],
        ),
        (&["dead", "show", "mail", "17"], &["'17'", "a UUID such as"]),
        (
            &["dead", "retry", "mail"],
            &["which dead letters? name their ids, or say `--all`, `--name`"],
        ),
        (
            &["enqueue", "n", "1", "--delay", "5"],
            &["'5'", "a duration with its unit"],
        ),
        (
            &["enqueue", "n", "1", "--header", "x"],
            &["'x'", "NAME=VALUE"],
        ),
        (&["stats", "--interval", "1s"], &["--watch"]),
        (
            &["stats", "--watch", "--interval", "1ms"],
            &["'1ms'", "100ms or more"],
        ),
        (
            &["completions", "tcsh"],
            &["'tcsh'", "bash, elvish, fish, powershell, zsh"],
        ),
    ];
    for (args, expected) in cases {
        let answer = say(args);
        assert_eq!(answer.code, Some(2), "{answer:?}");
        for text in *expected {
            let said = answer.stderr.replace("\n  ", " ");
            assert!(said.contains(text), "`{text}` is not in {said}");
        }
    }
}

#[test]
fn a_backend_inside_one_process_is_refused_with_what_to_do() {
    for args in [
        &["queues"][..],
        &["enqueue", "n", "1"],
        &["stats", "mail", "--watch"],
    ] {
        let said = say(args).refused(1);
        assert!(
            said.contains("driver `memory` keeps its jobs inside one process"),
            "{said}"
        );
        assert!(
            said.contains("GOQUEUE_DRIVER") && said.contains("--driver"),
            "{said}"
        );
    }
}

#[test]
fn an_unknown_or_unreachable_backend_is_named() {
    let said = say(&["queues", "--driver", "kafka://h"]).refused(1);
    assert!(
        said.contains("unknown driver `kafka`: allowed are memory://"),
        "{said}"
    );
    let said = say(&["queues", "--driver", "redis://127.0.0.1:1"]).refused(1);
    assert!(
        said.contains("driver `redis` failed to connect: 127.0.0.1:1"),
        "{said}"
    );
    assert!(
        said.contains("`goqueue doctor` looks for the cause"),
        "{said}"
    );
    let said = say(&["queues", "--config", "/nowhere/goqueue.toml"]).refused(1);
    assert!(said.contains("/nowhere/goqueue.toml"), "{said}");
}

#[test]
fn every_shell_gets_completions() {
    for (shell, sign) in [
        ("bash", "complete -F _goqueue"),
        ("zsh", "#compdef goqueue"),
        ("fish", "complete -c goqueue"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion:arg-completer[goqueue]"),
    ] {
        let script = say(&["completions", shell]).out();
        assert!(
            script.contains(sign) && script.contains("dry-run"),
            "{shell}: {script}"
        );
    }
    // The one shell that is everywhere reads its own.
    let script = say(&["completions", "bash"]).out();
    let mut bash = std::process::Command::new("bash");
    let mut child = bash
        .arg("-n")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(script.as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn help_shows_examples_and_a_version() {
    for args in [
        &["--help"][..],
        &["dead", "retry", "--help"],
        &["help", "stats"],
    ] {
        let help = say(args).out();
        assert!(help.contains("Examples:\n  goqueue "), "{help}");
        assert!(
            help.lines().all(|line| line.chars().count() <= 100),
            "{help}"
        );
    }
    assert_eq!(
        say(&["--version"]).out(),
        format!("goqueue {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn the_configuration_is_checked_without_a_connection() {
    let good = file(
        "good.toml",
        "driver = \"redis://:hunter2@127.0.0.1:1/0\"\n[worker]\nlease = \"45s\"\n",
    );
    let path = good.to_str().unwrap();
    let shown = run(goqueue()
        .args(["config", "check", "--config", path])
        .env("GOQUEUE_RETRY__MAX_ATTEMPTS", "9"))
    .out();
    let line = |key: &str| {
        let line = shown.lines().find(|line| line.starts_with(key)).unwrap();
        line.split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        line("driver "),
        ["driver", "redis://***@127.0.0.1:1/0", path]
    );
    assert_eq!(line("worker.lease"), ["worker.lease", "45s", path]);
    assert_eq!(
        line("retry.max_attempts"),
        ["retry.max_attempts", "9", "GOQUEUE_RETRY__MAX_ATTEMPTS"]
    );
    assert_eq!(line("worker.strict"), ["worker.strict", "false", "-"]);
    let json =
        run(goqueue().args(["config", "check", "--json", "--driver", "mysql://u:p@h/d"])).json();
    assert_eq!(json["settings"][0]["value"], "mysql://***@h/d");
    assert_eq!(json["settings"][0]["source"], "--driver");

    for (name, toml, expected) in [
        ("key", "[worker]\nthreads = 4\n", "`worker.threads`"),
        (
            "range",
            "[worker]\nconcurrency = 0\n",
            "got 0, allowed is 1 to 100000",
        ),
        (
            "table",
            "driver = \"redis://h\"\n[redis]\nprefiks = \"x\"\n",
            "unknown field `prefiks`",
        ),
        (
            "memory",
            "[memory]\ncapacity = 0\n",
            "`memory.capacity`: got 0, allowed is 1 to",
        ),
        (
            "database",
            "driver = \"mysql://h\"\n",
            "the URL names no database",
        ),
        (
            "option",
            "driver = \"sqs://eu-west-1/?fifo=yes\"\n",
            "option `fifo` is `yes`, allowed are `true` and `false`",
        ),
        (
            "credentials",
            "driver = \"sqs://eu-west-1\"\n[sqs]\naccess_key_id = \"key\"\n",
            "`sqs.secret_access_key`: missing, needed with `sqs.access_key_id`",
        ),
    ] {
        let path = file(name, toml);
        let said = say(&["config", "check", "--config", path.to_str().unwrap()]).refused(1);
        assert!(said.contains(expected), "{said}");
        std::fs::remove_file(path).unwrap();
    }
    std::fs::remove_file(good).unwrap();
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let mut child = goqueue()
        .args(["completions", "zsh"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
