//! Answers compared with files: what differs from run to run is replaced first.

use std::path::Path;

/// Keys of JSON whose numbers are times or durations.
const TIMES: [&str; 6] = [
    "\"oldest_ready_ms\": ",
    "\"due_in_ms\": ",
    "\"enqueued_at\": ",
    "\"died_at\": ",
    "\"published_at\": ",
    "\"at\": ",
];

/// Compares with `tests/golden/NAME`; with `UPDATE_GOLDEN` set, writes it.
#[track_caller]
pub(super) fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    let text = steady(text);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; UPDATE_GOLDEN=1 writes it", path.display()));
    assert_eq!(text, expected, "{name}; UPDATE_GOLDEN=1 writes it anew");
}

/// The text with ids numbered, and times and ages alike.
pub(super) fn steady(text: &str) -> String {
    let mut ids = Vec::new();
    let lines = text.split_inclusive('\n').map(|line| {
        let line = ages(&timestamps(&numbered(line, &mut ids)));
        TIMES.iter().fold(line, |line, key| zeroed(&line, key))
    });
    lines.collect()
}

/// Where a UUID is in a text, as byte positions.
pub(super) fn id_in(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (0..bytes.len().saturating_sub(35)).find(|&at| {
        bytes[at..at + 36]
            .iter()
            .enumerate()
            .all(|(n, byte)| match n {
                8 | 13 | 18 | 23 => *byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    })
}

fn numbered(line: &str, ids: &mut Vec<String>) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some(at) = id_in(rest) {
        let id = &rest[at..at + 36];
        let number = ids.iter().position(|known| known == id).unwrap_or_else(|| {
            ids.push(id.into());
            ids.len() - 1
        });
        text += &rest[..at];
        text += &format!("00000000-0000-7000-8000-{:012}", number + 1);
        rest = &rest[at + 36..];
    }
    text + rest
}

fn timestamps(line: &str) -> String {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00Z";
    let (mut text, mut rest) = (String::new(), line);
    let fits = |bytes: &[u8]| {
        bytes.iter().zip(SHAPE).all(|(byte, shape)| match shape {
            b'0' => byte.is_ascii_digit(),
            shape => byte == shape,
        })
    };
    while let Some(at) = rest.as_bytes().windows(SHAPE.len()).position(fits) {
        text += &rest[..at];
        text += "2026-01-01T00:00:00Z";
        rest = &rest[at + SHAPE.len()..];
    }
    text + rest
}

/// `3m 20s` and the spaces before it become two spaces and `AGE`.
fn ages(line: &str) -> String {
    let is_age = |word: &str| {
        let word = word.trim_start_matches('(');
        let digits = word
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(word.len());
        word == "AGE" || digits > 0 && ["ms", "s", "m", "h", "d"].contains(&&word[digits..])
    };
    let mut text = String::new();
    let mut was_age = false;
    for piece in line.split_inclusive(' ') {
        let word = piece.trim();
        if is_age(word) {
            if !was_age {
                let bare = text.trim_end().to_owned();
                let open = if word.starts_with('(') {
                    " (AGE"
                } else {
                    "  AGE"
                };
                text = bare + open;
            }
            was_age = true;
            if piece.ends_with('\n') {
                text.push('\n');
            }
            continue;
        }
        if was_age && !word.is_empty() {
            text.push(' ');
        }
        if !(was_age && word.is_empty()) {
            was_age = false;
            text += piece;
        }
    }
    text
}

fn zeroed(line: &str, key: &str) -> String {
    let Some((before, after)) = line.split_once(key) else {
        return line.into();
    };
    let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == after.len() {
        return line.into();
    }
    format!("{before}{key}0{rest}")
}

#[test]
fn what_differs_is_made_alike() {
    let id = goqueue::JobId::new();
    let text = format!(
        "{id}  x  3m 20s\n{id} (1h ago) 2026-11-30T22:15:04Z\n  \"at\": 17,\n  \"at\": null\n"
    );
    let expected = "00000000-0000-7000-8000-000000000001  x  AGE\n\
                    00000000-0000-7000-8000-000000000001 (AGE ago) 2026-01-01T00:00:00Z\n  \
                    \"at\": 0,\n  \"at\": null\n";
    assert_eq!(steady(&text), expected);
}
