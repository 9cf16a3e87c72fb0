//! What can be said about a text by counting.

use std::{collections::HashMap, time::Duration};

/// Words a minute of an adult who reads silently (Brysbaert 2019, "How many words do we read per
/// minute?", for non-fiction).
pub(crate) const WORDS_A_MINUTE: u64 = 238;

/// Words that are frequent in every text and say nothing about this one.
const COMMON: [&str; 52] = [
    "about", "after", "again", "against", "almost", "among", "been", "before", "being", "could",
    "does", "down", "each", "from", "have", "here", "into", "itself", "like", "more", "most",
    "much", "must", "only", "other", "over", "said", "shall", "should", "some", "such", "than",
    "that", "their", "them", "then", "there", "these", "they", "this", "those", "upon", "very",
    "well", "were", "what", "when", "which", "will", "with", "would", "your",
];

/// Their full stop ends no sentence.
const ABBREVIATIONS: [&str; 4] = ["dr", "mr", "mrs", "st"];

/// The counts of one text, or of several together.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextStats {
    /// Lines, the last one included when no line feed ends it.
    pub(crate) lines: usize,
    /// Runs of characters between white space or dashes that have a letter or a digit.
    pub(crate) words: usize,
    /// Words that a full stop, a question mark or an exclamation mark follows.
    pub(crate) sentences: usize,
    /// The longest word; of several, the first.
    pub(crate) longest: String,
    counts: HashMap<String, usize>,
}

impl TextStats {
    /// Counts `text`.
    pub(crate) fn of(text: &str) -> Self {
        let mut stats = Self {
            lines: text.lines().count(),
            ..Self::default()
        };
        let mut is_open = false;
        for run in text.split_whitespace().flat_map(split_dashes) {
            let word = run
                .trim_matches(|c: char| !c.is_alphanumeric())
                .to_lowercase();
            if word.is_empty() {
                continue;
            }
            is_open = !ends_sentence(run, &word);
            stats.sentences += usize::from(!is_open);
            stats.words += 1;
            if word.chars().count() > stats.longest.chars().count() {
                stats.longest.clone_from(&word);
            }
            *stats.counts.entry(word).or_default() += 1;
        }
        stats.sentences += usize::from(is_open);
        stats
    }

    /// Adds the counts of another text.
    pub(crate) fn add(&mut self, other: &Self) {
        self.lines += other.lines;
        self.words += other.words;
        self.sentences += other.sentences;
        if other.longest.chars().count() > self.longest.chars().count() {
            self.longest.clone_from(&other.longest);
        }
        for (word, count) in &other.counts {
            *self.counts.entry(word.clone()).or_default() += count;
        }
    }

    /// The words of four letters or more that come up most, the most frequent first, without those
    /// that every text is full of.
    pub(crate) fn frequent(&self) -> Vec<(&str, usize)> {
        let mut words: Vec<_> = self
            .counts
            .iter()
            .map(|(word, count)| (word.as_str(), *count))
            .filter(|(word, _)| word.chars().count() >= 4 && !COMMON.contains(word))
            .collect();
        words.sort_unstable_by(|(a, a_count), (b, b_count)| b_count.cmp(a_count).then(a.cmp(b)));
        words
    }

    /// How long reading it takes.
    pub(crate) fn reading_time(&self) -> Duration {
        Duration::from_secs(self.words as u64 * 60 / WORDS_A_MINUTE)
    }
}

fn split_dashes(run: &str) -> impl Iterator<Item = &str> {
    run.split('—').flat_map(|part| part.split("--"))
}

fn ends_sentence(run: &str, word: &str) -> bool {
    let bare = run.trim_end_matches(['"', '\'', '”', '’', '»', ')', ']', '*', '_']);
    match bare.chars().next_back() {
        Some('!' | '?') => true,
        Some('.') => !ABBREVIATIONS.contains(&word),
        _ => false,
    }
}
