//! The counting of the `files` example.

#[path = "../files/text.rs"]
mod text;

use std::time::Duration;

use text::{TextStats, WORDS_A_MINUTE};

#[test]
fn counts_words_between_white_space_and_dashes() {
    let stats = TextStats::of("Some years ago—never mind -- how long . . .\n\"Don't\" re-read it.");
    assert_eq!((stats.lines, stats.words), (2, 10));
    assert_eq!(stats.longest, "re-read");
}

#[test]
fn a_sentence_ends_with_its_mark_but_not_after_a_title() {
    assert_eq!(TextStats::of("Mr. Bennet made no answer.").sentences, 1);
    assert_eq!(
        TextStats::of("\"Beautiful!\" Great God! Is it?").sentences,
        3
    );
    assert_eq!(TextStats::of("It ends. This one goes on").sentences, 2);
    assert_eq!(TextStats::of(" . . . ").sentences, 0);
}

#[test]
fn frequent_words_are_ordered_by_count_and_then_by_name() {
    let stats = TextStats::of("Whale, whale and ship; the ship, the SEA and that harpoon that");
    assert_eq!(
        stats.frequent(),
        [("ship", 2), ("whale", 2), ("harpoon", 1)]
    );
}

#[test]
fn texts_add_up() {
    let mut total = TextStats::of("one word\nand more words.");
    total.add(&TextStats::of("words, considerably"));
    assert_eq!((total.lines, total.words, total.sentences), (3, 7, 2));
    assert_eq!(total.longest, "considerably");
    assert_eq!(total.frequent()[0], ("words", 2));
}

#[test]
fn reading_takes_a_minute_per_words_a_minute() {
    let text = "word ".repeat(WORDS_A_MINUTE as usize * 2);
    assert_eq!(
        TextStats::of(&text).reading_time(),
        Duration::from_secs(120)
    );
}

#[test]
fn an_empty_text_has_nothing() {
    let stats = TextStats::of("");
    assert_eq!((stats.lines, stats.words, stats.sentences), (0, 0, 0));
    assert!(stats.frequent().is_empty());
}
