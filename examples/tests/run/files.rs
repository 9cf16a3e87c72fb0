//! The main example: what it counts, how it retries, how it fails.

use nix::sys::signal::Signal;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    time::timeout,
};

use super::process::{PATIENCE, example, folder, run, signal, wait_for};

/// Lines and words counted by other means: `wc -l`, and `wc -w` after each dash was made a space and
/// each run of mere punctuation left out.
const SAMPLE: [(&str, u32, u32, u32, &str); 15] = [
    ("alice.txt", 27, 313, 1, "done"),
    ("declaration.txt", 23, 273, 1, "done"),
    ("demain-latin1.txt", 0, 0, 1, "dead"),
    ("empty.txt", 0, 0, 1, "skipped"),
    ("frankenstein.txt", 23, 278, 1, "done"),
    ("gettysburg-address.txt", 22, 271, 2, "done"),
    ("hamlet.txt", 33, 259, 1, "done"),
    ("jabberwocky.txt", 34, 166, 1, "done"),
    ("moby-dick.txt", 20, 270, 1, "done"),
    ("origin-of-species.txt", 17, 219, 1, "done"),
    ("ozymandias.txt", 14, 111, 4, "done"),
    ("pride-and-prejudice.txt", 39, 268, 1, "done"),
    ("sonnet-18.txt", 14, 114, 3, "done"),
    ("the-raven.txt", 27, 234, 1, "done"),
    ("two-cities.txt", 14, 186, 1, "done"),
];

#[tokio::test]
async fn files_counts_the_sample() {
    let (code, result, progress) = run(&mut example("files")).await;
    assert_eq!(code, Some(0), "{result}{progress}");

    let cells =
        |line: &str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
    let rule = format!("{}\n", "─".repeat(80));
    let table: Vec<_> = result.split(&rule).collect();
    assert_eq!(table.len(), 3, "{result}");
    let rows: Vec<_> = table[1].lines().map(cells).collect();
    assert_eq!(rows.len(), SAMPLE.len(), "{result}");
    for (row, (name, lines, words, attempts, status)) in rows.iter().zip(SAMPLE) {
        let counts = [name.to_owned(), lines.to_string(), words.to_string()];
        assert_eq!(row[..3], counts, "{result}");
        let ends = [attempts.to_string(), status.to_owned()];
        assert_eq!(row[row.len() - 2..], ends, "{result}");
    }
    let total = cells(table[2].lines().next().unwrap());
    assert_eq!(total[..4], ["15", "files", "307", "2962"], "{result}");
    assert_eq!(total[total.len() - 3..], ["21", "13", "done"], "{result}");

    assert!(
        rows[5].join(" ").contains("nation 5, dedicated 4"),
        "{result}"
    );
    assert!(
        result.contains("13 done, 1 skipped, 1 dead in "),
        "{result}"
    );
    assert!(
        result.contains(
            "demain-latin1.txt         permanent at attempt 1: not UTF-8 text from byte 9"
        ),
        "{result}"
    );
    for line in result.lines() {
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
    }
    assert!(
        !result.contains('\x1b') && !progress.contains('\x1b'),
        "colours were not asked for"
    );
}

#[tokio::test]
async fn files_retries_on_the_schedule_and_never_early() {
    let (_, result, progress) = run(&mut example("files")).await;
    let line = result
        .lines()
        .find(|line| line.starts_with("ozymandias.txt            100ms"));
    let times: Vec<u64> = line
        .expect("ozymandias.txt was retried")
        .split_whitespace()
        .skip(1)
        .map(|time| {
            time.trim_end_matches(',')
                .trim_end_matches("ms")
                .parse()
                .unwrap()
        })
        .collect();
    let (planned, measured) = times.split_at(3);
    assert_eq!(planned, [100, 200, 400]);
    for (planned, measured) in planned.iter().zip(measured) {
        assert!(measured >= planned, "early: {result}");
    }
    assert!(
        progress.contains("ozymandias.txt: the storage is busy; again in 400ms"),
        "{progress}"
    );
    assert!(progress.contains("15/15"), "{progress}");
}

#[tokio::test]
async fn files_reads_the_directory_that_is_named() {
    let texts = folder(
        "texts",
        &[
            ("two words.txt", b"One, two -- three!\nFour"),
            (".hidden", b"no"),
        ],
    );
    let (code, result, _) = run(example("files").arg(&texts)).await;
    assert_eq!(code, Some(0), "{result}");
    let row = result.lines().nth(2).unwrap();
    let cells: Vec<_> = row.split_whitespace().collect();
    assert_eq!(
        cells,
        ["two", "words.txt", "2", "4", "1", "done"],
        "{result}"
    );
    assert!(result.contains("\n1 done in "), "{result}");
    assert!(
        !result.contains("RETRIED") && !result.contains("DEAD"),
        "{result}"
    );
}

#[tokio::test]
async fn files_fails_when_every_file_does() {
    let texts = folder("broken", &[("broken.txt", &[0xff])]);
    let (code, result, _) = run(example("files").arg(&texts)).await;
    assert_eq!(code, Some(1), "{result}");
    assert!(result.contains("not UTF-8 text from byte 0"), "{result}");
}

#[tokio::test]
async fn files_says_what_is_wrong_with_its_arguments() {
    let empty = folder("no-files", &[]);
    let missing = empty.join("nowhere");
    for (arguments, code, expected) in [
        (
            vec![missing.to_str().unwrap()],
            1,
            "cannot read the directory `",
        ),
        (vec![empty.to_str().unwrap()], 1, "there are no files in `"),
        (
            vec!["--fast"],
            2,
            "unknown option `--fast`\nusage: files [DIRECTORY]",
        ),
        (vec!["a", "b"], 2, "more than one directory\nusage: "),
    ] {
        let (actual, _, error) = run(example("files").args(&arguments)).await;
        assert_eq!(actual, Some(code), "{arguments:?}: {error}");
        assert!(
            error.starts_with(&format!("error: {expected}")),
            "{arguments:?}: {error}"
        );
    }
    let (code, usage, _) = run(example("files").arg("--help")).await;
    assert_eq!(code, Some(0));
    assert!(usage.starts_with("usage: files [DIRECTORY]"), "{usage}");
}

#[tokio::test]
async fn files_that_is_stopped_early_says_so() {
    // Long enough that the signal comes before the end, short enough for the grace.
    let texts: Vec<_> = (0..60).map(|number| format!("{number}.txt")).collect();
    let texts: Vec<_> = texts
        .iter()
        .map(|name| (name.as_str(), &b"text"[..]))
        .collect();
    let texts = folder("many", &texts);
    let mut child = example("files").arg(&texts).spawn().unwrap();
    let mut progress = BufReader::new(child.stderr.take().unwrap()).lines();
    wait_for(&mut progress, "1/60").await;
    signal(&child, Signal::SIGINT);
    let output = timeout(PATIENCE, child.wait_with_output())
        .await
        .unwrap()
        .unwrap();
    let result = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{result}");
    assert!(result.contains(" waiting in "), "{result}");
}

#[tokio::test]
async fn files_logs_what_rust_log_asks_for() {
    let text = folder("files_logs", &[("one.txt", b"One text.")]);
    for (wanted, is_logged) in [
        ("", false),
        ("warn", false),
        ("warn,goqueue_core=info", true),
    ] {
        let (code, _, error) = run(example("files").arg(&text).env("RUST_LOG", wanted)).await;
        assert_eq!(code, Some(0), "{error}");
        assert_eq!(
            error.contains(" INFO goqueue_core::"),
            is_logged,
            "{wanted}: {error}"
        );
    }
}
